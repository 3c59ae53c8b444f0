#include "passes/spmd/halo.h"

#include <algorithm>

#include "lib/support/round.h"

namespace hlo {
namespace {

// How far ranges reach beyond the tiles, on either side.
struct Reach {
  int64_t left = 0;
  int64_t right = 0;
};

Reach ReachOf(const Placement& placement, Shape whole, int64_t d, const TileRanges& ranges) {
  const int64_t size = placement.TileSize(whole, d);
  Reach reach;
  for (int64_t device = 0; device < placement.devices(); ++device) {
    const int64_t start = placement.tile_of(device, d) * size;
    const int64_t first = ranges.first[static_cast<size_t>(device)];
    // Nobody has what is outside of the array.
    const int64_t begin = std::max<int64_t>(first, 0);
    const int64_t end = std::min(first + ranges.size, whole.dim(static_cast<int>(d)));
    if (begin >= end) continue;
    reach.left = std::max(reach.left, start - begin);
    reach.right = std::max(reach.right, end - (start + size));
  }
  return reach;
}

// The part [begin, end) of dimension `d`.
Instruction* PartOf(SpmdCode& code, Instruction* x, int64_t d, int64_t begin, int64_t end) {
  DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  if (begin == 0 && end == limits[static_cast<size_t>(d)]) return x;
  starts[static_cast<size_t>(d)] = begin;
  limits[static_cast<size_t>(d)] = end;
  return code.Slice(x, starts, limits);
}

// What the neighbour `steps` tiles further on (negative: back) has.
Instruction* FromNeighbour(SpmdCode& code, Instruction* x, const Placement& placement, int64_t d,
                           int64_t steps) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const std::vector<int64_t>& group : placement.Groups({d})) {
    const auto count = static_cast<int64_t>(group.size());
    for (int64_t i = std::max<int64_t>(0, -steps); i < std::min(count, count - steps); ++i)
      pairs.emplace_back(group[static_cast<size_t>(i + steps)], group[static_cast<size_t>(i)]);
  }
  absl::c_sort(pairs);
  return code.Permute(x, pairs);
}

}  // namespace

bool AreNear(const Placement& placement, Shape whole, int64_t d, const TileRanges& ranges) {
  const int64_t size = placement.TileSize(whole, d);
  if (size == 0) return false;
  const Reach reach = ReachOf(placement, whole, d, ranges);
  const int64_t neighbours = CeilDiv(reach.left, size) + CeilDiv(reach.right, size);
  return neighbours <= 1 || neighbours < placement.tiles(d) - 1;
}

int64_t NeighbourBytes(const Placement& placement, Shape whole, int64_t d,
                       const TileRanges& ranges) {
  const Reach reach = ReachOf(placement, whole, d, ranges);
  const Shape tile = placement.TileShape(whole.WithoutLayout());
  return tile.WithDim(static_cast<int>(d), reach.left + reach.right).byte_size();
}

Instruction* TakeRanges(SpmdCode& code, Instruction* tile, const Placement& placement, Shape whole,
                        int64_t d, const TileRanges& ranges, Instruction* fill) {
  const int64_t size = placement.TileSize(whole, d);
  const Reach reach = ReachOf(placement, whole, d, ranges);
  std::vector<Instruction*> parts;
  for (int64_t steps = CeilDiv(reach.left, size); steps > 0; --steps) {
    const int64_t taken = std::min(size, reach.left - (steps - 1) * size);
    Instruction* part = PartOf(code, tile, d, size - taken, size);
    parts.push_back(FromNeighbour(code, part, placement, d, -steps));
  }
  parts.push_back(tile);
  for (int64_t steps = 1; (steps - 1) * size < reach.right; ++steps) {
    const int64_t taken = std::min(size, reach.right - (steps - 1) * size);
    parts.push_back(FromNeighbour(code, PartOf(code, tile, d, 0, taken), placement, d, steps));
  }
  Instruction* joined = parts.size() == 1 ? tile : code.Concatenate(parts, d);
  // Where the range begins in what was joined, and which of it is in the array. Ranges outside of
  // the array begin just outside.
  const int64_t joined_size = joined->shape().dim(static_cast<int>(d));
  std::vector<int64_t> starts, first_there, past_there;
  for (int64_t device = 0; device < placement.devices(); ++device) {
    const int64_t first = ranges.first[static_cast<size_t>(device)];
    starts.push_back(std::clamp(first - (placement.tile_of(device, d) * size - reach.left),
                                -ranges.size, joined_size));
    first_there.push_back(std::clamp<int64_t>(-first, 0, ranges.size));
    past_there.push_back(
        std::clamp<int64_t>(whole.dim(static_cast<int>(d)) - first, 0, ranges.size));
  }
  const auto [least, most] = std::minmax_element(starts.begin(), starts.end());
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(placement.rank()));
  padding.dims[static_cast<size_t>(d)] = {
      std::max<int64_t>(0, -*least), std::max<int64_t>(0, *most + ranges.size - joined_size), 0};
  if (padding.dims[static_cast<size_t>(d)] != PaddingDim())
    joined = code.Pad(joined, fill, padding);
  for (int64_t& place : starts) place += padding.dims[static_cast<size_t>(d)].low;
  Instruction* start = code.Table(starts);
  Instruction* zero = code.Constant(Literal::Zero(start->shape().element_type()));
  std::vector<Instruction*> all_starts(static_cast<size_t>(placement.rank()), zero);
  all_starts[static_cast<size_t>(d)] = start;
  DimVec sizes(joined->shape().dims().begin(), joined->shape().dims().end());
  sizes[static_cast<size_t>(d)] = ranges.size;
  Instruction* range = code.DynamicSlice(joined, all_starts, sizes);
  const bool is_inside = absl::c_all_of(first_there, [](int64_t n) { return n == 0; }) &&
                         absl::c_all_of(past_there, [&](int64_t n) { return n == ranges.size; });
  if (is_inside) return range;
  const Shape numbers = Shape::Array(ElementType::kS64, range->shape().dims());
  const auto filled = [&](const std::vector<int64_t>& values) {
    return code.Filled(numbers, code.Convert(code.Table(values), ElementType::kS64));
  };
  Instruction* number = code.Iota(numbers, d);
  Instruction* is_there =
      code.And(code.Compare(number, filled(first_there), ComparisonDirection::kGe),
               code.Compare(number, filled(past_there), ComparisonDirection::kLt));
  return code.Select(is_there, range, code.Filled(range->shape(), fill));
}

}  // namespace hlo
