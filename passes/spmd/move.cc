#include "passes/spmd/move.h"

#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "lib/support/round.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Kind = MoveStep::Kind;

// Whether tiles of `fine` lie inside of tiles of `coarse` along `d`, on the same devices, and end
// where those end.
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

int64_t ShardBytes(const Placement& placement, Shape whole) {
  return placement.TileShape(whole.WithoutLayout()).byte_size();
}

// ---- the steps as instructions ----

Instruction* EmitSlice(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                       const Placement& to) {
  std::vector<Instruction*> starts;
  DimVec sizes;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t size = to.TileSize(whole, d);
    const int64_t factor = to.tiles(d) / from.tiles(d);
    if (from.tiles(d) == 1) tile = code.Resized(tile, d, size * to.tiles(d));
    std::vector<int64_t> by_device(static_cast<size_t>(from.devices()), 0);
    for (size_t i = 0; factor > 1 && i < by_device.size(); ++i)
      by_device[i] = to.tile_of(static_cast<int64_t>(i), d) % factor * size;
    starts.push_back(code.Table(by_device));
    sizes.push_back(size);
  }
  // All of them of one type.
  const bool is_wide = absl::c_any_of(starts, [](const Instruction* start) {
    return start->shape().element_type() == ElementType::kS64;
  });
  if (is_wide) {
    for (Instruction*& start : starts) start = code.Convert(start, ElementType::kS64);
  }
  return code.DynamicSlice(tile, starts, sizes);
}

Instruction* EmitGather(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                        const MoveStep& step) {
  Instruction* result = code.AllGather(tile, step.dim, from.Groups({step.dim}, step.factor));
  return code.Resized(result, step.dim, step.after.TileSize(whole, step.dim));
}

// x[…, a, …, b, …] with b in `factor` parts: each goes to a device, whose parts are put one after
// the other along a.
Instruction* EmitExchange(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                          const MoveStep& step) {
  const int64_t joined = step.dim, cut = step.other_dim;
  const int64_t part = step.after.TileSize(whole, cut);
  tile = code.Resized(tile, cut, part * step.factor);
  DimVec split(tile->shape().dims().begin(), tile->shape().dims().end());
  split[static_cast<size_t>(cut)] = part;
  split.insert(split.begin() + cut, step.factor);
  Instruction* result =
      code.AllToAll(code.Reshape(tile, split), cut, from.Groups({step.dim}, step.factor));
  // The parts, in the order of the devices, come before the dimension that they are joined along.
  DimVec order;
  for (int64_t d = 0; d < static_cast<int64_t>(split.size()); ++d) {
    if (d == cut) continue;
    const int64_t original = d > cut ? d - 1 : d;
    if (original == joined) order.push_back(cut);
    order.push_back(d);
  }
  DimVec dims(tile->shape().dims().begin(), tile->shape().dims().end());
  dims[static_cast<size_t>(cut)] = part;
  dims[static_cast<size_t>(joined)] *= step.factor;
  result = code.Reshape(code.Transpose(result, order), dims);
  return code.Resized(result, joined, step.after.TileSize(whole, joined));
}

Instruction* EmitSend(SpmdCode& code, Instruction* tile, const Placement& from,
                      const Placement& to) {
  // Holders of each tile before and after, by region.
  using Holders = std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>>;
  const auto holders_of = [&](const Placement& placement) {
    Holders holders;
    for (int64_t device = 0; device < placement.devices(); ++device) {
      int64_t tile_number = 0;
      for (int64_t d = 0; d < placement.rank(); ++d)
        tile_number = tile_number * placement.tiles(d) + placement.tile_of(device, d);
      holders[{to.region_of(device), tile_number}].push_back(device);
    }
    return holders;
  };
  const Holders before = holders_of(from), after = holders_of(to);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const auto& [key, sources] : before) {
    const std::vector<int64_t>& targets = after.at(key);
    std::vector<int64_t> free;
    for (const int64_t source : sources) {
      if (absl::c_linear_search(targets, source)) {
        pairs.emplace_back(source, source);
      } else {
        free.push_back(source);
      }
    }
    size_t next = 0;
    for (const int64_t target : targets) {
      if (!absl::c_linear_search(sources, target)) pairs.emplace_back(free[next++], target);
    }
  }
  absl::c_sort(pairs);
  return code.Permute(tile, pairs);
}

}  // namespace

std::vector<MoveStep> PlanMove(const Placement& given, const Placement& to, Shape whole) {
  Placement from = given.InRegionsOf(to);
  if (from == to) return {};
  std::vector<MoveStep> steps;
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
  if (has_same_tiles) return {{Kind::kSend, to}};
  if (gathers.size() == 1 && !slices_again) {
    MoveStep exchange = gathers[0];
    exchange.other_dim = ExchangedDim(from, to, whole, gathers[0], sliced);
    if (exchange.other_dim >= 0) {
      exchange.kind = Kind::kExchange;
      exchange.after = to;
      return {exchange};
    }
  }
  Placement smaller = from;
  for (const int64_t d : sliced) smaller = smaller.WithDim(d, to);
  if (!sliced.empty() && smaller.IsSound()) {
    steps.push_back({Kind::kSlice, smaller});
    from = std::move(smaller);
  }
  for (MoveStep& gather : gathers) {
    gather.after = from = from.WithMergedTiles(gather.dim, gather.factor);
    steps.push_back(std::move(gather));
  }
  if (from != to) steps.push_back({Kind::kSlice, to});
  return steps;
}

int64_t MoveBytes(const Placement& from, const Placement& to, Shape whole) {
  if (!from.IsSoundIn(to)) {
    const Placement all = from.AllWhole(from.rank());
    return MoveBytes(from, all, whole) + MoveBytes(all, to, whole);
  }
  int64_t bytes = 0;
  for (const MoveStep& step : PlanMove(from, to, whole)) {
    if (step.kind != Kind::kSlice) bytes += ShardBytes(step.after, whole);
  }
  return bytes;
}

Instruction* Move(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                  const Placement& to) {
  if (!from.IsSoundIn(to)) {
    const Placement all = from.AllWhole(from.rank());
    return Move(code, Move(code, tile, whole, from, all), whole, all, to);
  }
  Placement now = from.InRegionsOf(to);
  for (const MoveStep& step : PlanMove(from, to, whole)) {
    switch (step.kind) {
      case Kind::kSlice: tile = EmitSlice(code, tile, whole, now, step.after); break;
      case Kind::kGather: tile = EmitGather(code, tile, whole, now, step); break;
      case Kind::kExchange: tile = EmitExchange(code, tile, whole, now, step); break;
      case Kind::kSend: tile = EmitSend(code, tile, now, step.after); break;
    }
    now = step.after;
  }
  return tile;
}

}  // namespace hlo
