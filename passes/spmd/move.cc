#include "passes/spmd/move.h"

#include <map>

#include "absl/algorithm/container.h"

namespace hlo {
namespace {

using Kind = MoveStep::Kind;

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

MoveWork WorkOfMove(const Placement& from, const Placement& to, Shape whole) {
  if (!from.IsSoundIn(to)) {
    const Placement all = from.AllWhole(from.rank());
    MoveWork work = WorkOfMove(from, all, whole);
    work.Add(WorkOfMove(all, to, whole));
    return work;
  }
  const std::vector<MoveStep> steps = PlanMove(from, to, whole);
  const auto is_collective = [](const MoveStep& step) { return step.kind != Kind::kSlice; };
  return {BytesOf(steps, whole), absl::c_count_if(steps, is_collective)};
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
