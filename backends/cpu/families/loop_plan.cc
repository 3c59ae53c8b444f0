#include "backends/cpu/families/loop_plan.h"

#include <algorithm>

namespace hlo::cpu {

Nest Nest::Of(absl::Span<const int64_t> sizes) {
  Nest nest;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;  // its index is 0
    LoopDim dim;
    dim.array_dim = static_cast<int>(d);
    dim.size = sizes[d];
    nest.dims.push_back(dim);
  }
  if (nest.dims.empty()) nest.dims.push_back({});
  nest.dims.back().joined_to_next = false;
  return nest;
}

Nest& LoopPlan::NestFor(int owner, absl::Span<const int64_t> sizes) {
  const auto [it, is_new] = nests.try_emplace(owner);
  if (is_new) it->second = Nest::Of(sizes);
  return it->second;
}

void LoopPlan::Separate(Nest& nest, size_t dim) {
  if (renumbered || !nest.dims[dim].joined_to_next) return;
  nest.dims[dim].joined_to_next = false;
  changed = true;
}

bool LoopDim::BreaksAreWhole(int64_t inner_size) const {
  return std::all_of(breaks.begin(), breaks.end(),
                     [inner_size](int64_t at) { return at % inner_size == 0; });
}

void LoopPlan::Split(Nest& nest, size_t dim, int64_t inner_size) {
  changed = true;
  // The loop may have been cut since this emission began.
  if (renumbered || !nest.dims[dim].BreaksAreWhole(inner_size)) return;
  renumbered = true;
  LoopDim inner = nest.dims[dim];
  LoopDim& outer = nest.dims[dim];
  outer.size /= inner_size;
  outer.stride *= inner_size;
  outer.joined_to_next = outer.breaks.empty();
  for (int64_t& at : outer.breaks) at /= inner_size;
  inner.size = inner_size;
  inner.breaks.clear();
  nest.dims.insert(nest.dims.begin() + static_cast<int64_t>(dim) + 1, inner);
}

void LoopPlan::Break(Nest& nest, size_t dim, int64_t at) {
  std::vector<int64_t>& breaks = nest.dims[dim].breaks;
  if (renumbered || at <= 0 || at >= nest.dims[dim].size) return;
  const auto place = std::lower_bound(breaks.begin(), breaks.end(), at);
  if (place != breaks.end() && *place == at) return;
  breaks.insert(place, at);
  changed = true;
  if (dim > 0) Separate(nest, dim - 1);
  if (dim + 1 < nest.dims.size()) Separate(nest, dim);
}

void LoopPlan::LimitLanes(Nest& nest, int lanes) {
  if (nest.lanes_limit <= lanes) return;
  nest.lanes_limit = lanes;
  changed = true;
}

void LoopPlan::Tile(Nest& nest, size_t dim) {
  if (renumbered || nest.tile_dim >= 0) return;
  nest.tile_dim = nest.dims[dim].array_dim;
  nest.tile_stride = nest.dims[dim].stride;
  changed = true;
}

}  // namespace hlo::cpu
