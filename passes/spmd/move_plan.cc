#include "passes/spmd/move_plan.h"

#include <map>
#include <numeric>
#include <optional>

#include "absl/algorithm/container.h"
#include "lib/support/round.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Kind = MoveStep::Kind;

// ---- dimension by dimension ----

// The dimension that `to` slices instead of `gathered`, so that every device of a group of `gather`
// ends up with one part of what each of the others has; -1 if there is none.
int64_t ExchangedDim(const Placement& from, const Placement& to, Shape whole,
                     const MoveStep& gather, const std::vector<int64_t>& sliced) {
  if (sliced.size() != 1) return -1;
  const int64_t d = sliced[0];
  if (to.tiles(d) != from.tiles(d) * gather.factor || !Refines(to, from, whole, d)) return -1;
  for (const std::vector<int64_t>& group : from.Groups({gather.dim}, gather.factor)) {
    for (size_t i = 0; i < group.size(); ++i) {
      if (to.tile_of(group[i], d) % gather.factor != static_cast<int64_t>(i)) return -1;
    }
  }
  return d;
}

struct DimPlan {
  std::vector<MoveStep> steps;
  bool is_best = false;  // no other could be cheaper
};

DimPlan PlanByDim(Placement from, const Placement& to, Shape whole) {
  DimPlan plan;
  std::vector<MoveStep> gathers;
  std::vector<int64_t> sliced;  // from what a device has
  bool has_same_tiles = true, slices_again = false;
  for (int64_t d = 0; d < from.rank(); ++d) {
    has_same_tiles &= from.tiles(d) == to.tiles(d);
    if (from.SameAlong(d, to)) continue;
    if (Refines(to, from, whole, d)) {
      sliced.push_back(d);
    } else {
      const bool is_nested = Refines(from, to, whole, d);
      const int64_t factor = is_nested ? from.tiles(d) / to.tiles(d) : from.tiles(d);
      gathers.push_back({Kind::kGather, from, d, factor});
      slices_again |= !is_nested;
    }
  }
  plan.is_best = true;
  if (has_same_tiles) {
    plan.steps.push_back({Kind::kSend, to});
    return plan;
  }
  if (gathers.size() == 1 && !slices_again) {
    MoveStep exchange = gathers[0];
    exchange.other_dim = ExchangedDim(from, to, whole, gathers[0], sliced);
    if (exchange.other_dim >= 0) {
      exchange.kind = Kind::kExchange;
      exchange.after = to;
      plan.steps.push_back(std::move(exchange));
      return plan;
    }
  }
  plan.is_best = gathers.empty() || (sliced.empty() && !slices_again);
  Placement smaller = from;
  for (const int64_t d : sliced) smaller = smaller.WithDim(d, to);
  if (!sliced.empty() && smaller.IsSound()) {
    plan.steps.push_back({Kind::kSlice, smaller});
    from = std::move(smaller);
  }
  for (MoveStep& gather : gathers) {
    gather.after = from = from.WithMergedTiles(gather.dim, gather.factor);
    plan.steps.push_back(std::move(gather));
  }
  if (from != to) plan.steps.push_back({Kind::kSlice, to});
  return plan;
}

// ---- by numbers ----

class NumberPlan {
 public:
  NumberPlan(Placement from, const Placement& to, Shape whole)
      : now_(std::move(from)), to_(to), whole_(whole) {}

  std::optional<std::vector<MoveStep>> Make() {
    for (int64_t d = 0; d < now_.rank(); ++d) {
      const int64_t common = std::gcd(now_.tiles(d), to_.tiles(d));
      surplus_.push_back(now_.tiles(d) / common);
      deficit_.push_back(to_.tiles(d) / common);
    }
    const std::vector<MoveStep> exchanges = PairUp();
    // The smallest parts move: what is only sliced comes first, what is only gathered last.
    for (int64_t d = 0; d < now_.rank(); ++d) {
      if (!Slice(d, deficit_[static_cast<size_t>(d)])) return std::nullopt;
    }
    for (const MoveStep& exchange : exchanges) {
      if (!Exchange(exchange)) return std::nullopt;
    }
    const std::optional<Placement> sent = BeforeGathers();
    if (!sent.has_value()) return std::nullopt;
    if (*sent != now_) Add({Kind::kSend, *sent});
    for (int64_t d = 0; d < now_.rank(); ++d) {
      if (!Gather(d, surplus_[static_cast<size_t>(d)])) return std::nullopt;
    }
    return std::move(steps_);
  }

 private:
  void Add(MoveStep step) {
    now_ = step.after;
    steps_.push_back(std::move(step));
  }

  // Tiles that are too many of one dimension, for tiles that another one lacks.
  std::vector<MoveStep> PairUp() {
    std::vector<MoveStep> exchanges;
    for (size_t a = 0; a < surplus_.size(); ++a) {
      for (size_t b = 0; b < deficit_.size(); ++b) {
        const int64_t factor = std::gcd(surplus_[a], deficit_[b]);
        if (factor == 1) continue;
        surplus_[a] /= factor;
        deficit_[b] /= factor;
        exchanges.push_back(
            {Kind::kExchange, now_, static_cast<int64_t>(a), factor, static_cast<int64_t>(b)});
      }
    }
    return exchanges;
  }

  // Whether each of `tiles` tiles along `d` is `factor` smaller ones.
  bool Splits(int64_t d, int64_t tiles, int64_t factor) const {
    const int64_t size = whole_.dim(static_cast<int>(d));
    return tiles == 1 || CeilDiv(size, tiles) == factor * CeilDiv(size, tiles * factor);
  }

  // With each tile along `d` in `factor` parts, which its holders share: as `like` does, if that is
  // possible.
  static std::optional<Placement> Shared(const Placement& from, int64_t d, int64_t factor,
                                         const Placement& like) {
    std::vector<int64_t> parts;
    for (int64_t device = 0; device < from.devices(); ++device)
      parts.push_back(like.tile_of(device, d) % factor);
    Placement result = from.WithSplitTiles(d, factor, parts);
    if (result.IsSound()) return result;
    std::map<std::vector<int64_t>, std::vector<int64_t>> holders;  // by region and tile
    for (int64_t device = 0; device < from.devices(); ++device) {
      std::vector<int64_t> key = {from.region_of(device)};
      for (int64_t i = 0; i < from.rank(); ++i) key.push_back(from.tile_of(device, i));
      holders[std::move(key)].push_back(device);
    }
    for (const auto& [key, devices] : holders) {
      const auto count = static_cast<int64_t>(devices.size());
      if (count % factor != 0) return std::nullopt;
      for (int64_t i = 0; i < count; ++i)
        parts[static_cast<size_t>(devices[static_cast<size_t>(i)])] = i / (count / factor);
    }
    return from.WithSplitTiles(d, factor, parts);
  }

  bool Slice(int64_t d, int64_t factor) {
    if (factor == 1) return true;
    std::optional<Placement> after = Shared(now_, d, factor, to_);
    if (!after.has_value() || !Splits(d, now_.tiles(d), factor)) return false;
    Add({Kind::kSlice, *std::move(after)});
    return true;
  }

  bool Exchange(MoveStep step) {
    if (!Splits(step.dim, now_.tiles(step.dim) / step.factor, step.factor) ||
        !Splits(step.other_dim, now_.tiles(step.other_dim), step.factor))
      return false;
    std::vector<int64_t> parts(static_cast<size_t>(now_.devices()), 0);
    for (const std::vector<int64_t>& group : now_.Groups({step.dim}, step.factor)) {
      for (size_t i = 0; i < group.size(); ++i)
        parts[static_cast<size_t>(group[i])] = static_cast<int64_t>(i);
    }
    step.after = now_.WithMergedTiles(step.dim, step.factor)
                     .WithSplitTiles(step.other_dim, step.factor, parts);
    Add(std::move(step));
    return true;
  }

  // Where tiles are to be so that gathering them gives `to`.
  std::optional<Placement> BeforeGathers() const {
    std::optional<Placement> result = to_;
    for (int64_t d = 0; d < now_.rank() && result.has_value(); ++d) {
      const int64_t factor = surplus_[static_cast<size_t>(d)];
      if (factor > 1) result = Shared(*result, d, factor, now_);
    }
    return result;
  }

  bool Gather(int64_t d, int64_t factor) {
    if (factor == 1) return true;
    if (!Splits(d, now_.tiles(d) / factor, factor)) return false;
    Add({Kind::kGather, now_.WithMergedTiles(d, factor), d, factor});
    return true;
  }

  Placement now_;
  const Placement& to_;
  Shape whole_;
  std::vector<int64_t> surplus_;  // tiles that become one, by dimension
  std::vector<int64_t> deficit_;  // tiles that each one becomes
  std::vector<MoveStep> steps_;
};

}  // namespace

bool Refines(const Placement& fine, const Placement& coarse, Shape whole, int64_t d) {
  if (fine.tiles(d) % coarse.tiles(d) != 0) return false;
  const int64_t factor = fine.tiles(d) / coarse.tiles(d);
  if (coarse.tiles(d) > 1 && coarse.TileSize(whole, d) != factor * fine.TileSize(whole, d))
    return false;
  for (int64_t device = 0; device < fine.devices(); ++device) {
    if (fine.tile_of(device, d) / factor != coarse.tile_of(device, d)) return false;
  }
  return true;
}

int64_t BytesOf(const std::vector<MoveStep>& steps, Shape whole) {
  int64_t bytes = 0;
  for (const MoveStep& step : steps) {
    if (step.kind != Kind::kSlice) bytes += step.after.TileShape(whole.WithoutLayout()).byte_size();
  }
  return bytes;
}

std::vector<MoveStep> PlanMove(const Placement& given, const Placement& to, Shape whole) {
  Placement from = given.InRegionsOf(to);
  if (from == to) return {};
  DimPlan by_dim = PlanByDim(from, to, whole);
  if (by_dim.is_best) return std::move(by_dim.steps);
  std::optional<std::vector<MoveStep>> by_number = NumberPlan(std::move(from), to, whole).Make();
  const bool is_better =
      by_number.has_value() && BytesOf(*by_number, whole) < BytesOf(by_dim.steps, whole);
  return is_better ? *std::move(by_number) : std::move(by_dim.steps);
}

}  // namespace hlo
