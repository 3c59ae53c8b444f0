#include "passes/util/sharding_fit.h"

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

bool Fits(const Sharding::Leaf& leaf, Shape array) {
  const int64_t rank = array.IsArray() ? array.rank() : 0;
  if (const auto* tiled = std::get_if<TiledSharding>(&leaf))
    return tiled->kind != TiledSharding::Kind::kTiled || tiled->data_rank() == rank;
  const std::vector<NamedSharding::Dim>& dims = std::get<NamedSharding>(leaf).dims;
  return dims.empty() || std::ssize(dims) == rank;
}

}  // namespace

bool FitsAll(const Sharding::Leaf& leaf, Shape shape) {
  bool fits = true;
  ForEachLeaf(shape, [&](Shape array, const ShapeIndex&) { fits &= Fits(leaf, array); });
  return fits;
}

bool FitLeaves(const std::vector<Sharding::Leaf>& leaves, Shape shape) {
  if (std::ssize(leaves) != LeafCount(shape)) return false;
  size_t next = 0;
  bool fit = true;
  ForEachLeaf(shape, [&](Shape array, const ShapeIndex&) { fit &= Fits(leaves[next++], array); });
  return fit;
}

}  // namespace hlo
