// lib/types/shape_util.cc
//
// Trees of shapes, index arithmetic and bitcasts. Checks of soundness are in shape_validate.cc.
#include "lib/types/shape_util.h"

#include <algorithm>

#include "lib/support/saturate.h"
#include "lib/types/append.h"
#include "lib/types/memory_order.h"

namespace hlo {
namespace {

using ShapeVisitor = std::function<void(Shape, const ShapeIndex&)>;

void Visit(Shape shape, ShapeIndex& index, bool leaves_only, const ShapeVisitor& fn) {
  if (!leaves_only || !shape.IsTuple()) fn(shape, index);
  if (!shape.IsTuple()) return;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    index.push_back(i);
    Visit(shape.element(i), index, leaves_only, fn);
    index.pop_back();
  }
}

// Everything of the layouts but the order of dimensions.
bool SameProperties(const Layout& a, const Layout& b) {
  Layout with_order_of_b = a;
  with_order_of_b.minor_to_major = b.minor_to_major;
  return with_order_of_b == b;
}

bool BothLaidOut(Shape a, Shape b) {
  return a.IsArray() && b.IsArray() && a.has_layout() && b.has_layout() &&
         a.element_type() == b.element_type();
}

}  // namespace

std::string ToString(const ShapeIndex& index) {
  std::string out = "{";
  AppendInts(index, out);
  out += '}';
  return out;
}

Shape SubShape(Shape shape, const ShapeIndex& index) {
  for (const int64_t i : index) shape = shape.element(static_cast<int>(i));
  return shape;
}

bool IndexIsValid(Shape shape, const ShapeIndex& index) {
  for (const int64_t i : index) {
    if (!shape.IsTuple() || i < 0 || i >= shape.element_count_of_tuple()) return false;
    shape = shape.element(static_cast<int>(i));
  }
  return true;
}

void ForEachSubShape(Shape shape, const ShapeVisitor& fn) {
  ShapeIndex index;
  Visit(shape, index, /*leaves_only=*/false, fn);
}

void ForEachLeaf(Shape shape, const ShapeVisitor& fn) {
  ShapeIndex index;
  Visit(shape, index, /*leaves_only=*/true, fn);
}

int64_t ArrayBytes(Shape shape) {
  if (shape.IsArray()) return shape.byte_size();
  int64_t bytes = 0;
  if (shape.IsTuple()) {
    for (const Shape element : shape.elements()) bytes = SaturatingAdd(bytes, ArrayBytes(element));
  }
  return bytes;
}

int64_t LeafCount(Shape shape) {
  if (!shape.IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape element : shape.elements()) count += LeafCount(element);
  return count;
}

DimVec RowMajorStrides(absl::Span<const int64_t> dims) {
  DimVec strides(dims.size());
  int64_t stride = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = SaturatingMul(stride, dims[i]);
  }
  return strides;
}

DimVec LayoutStrides(Shape shape) {
  DimVec strides(shape.rank());
  int64_t stride = 1;
  for (const int64_t dim : shape.layout().minor_to_major) {
    strides[dim] = stride;
    stride = SaturatingMul(stride, shape.dim(static_cast<int>(dim)));
  }
  return strides;
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product = SaturatingMul(product, dim);
  return product;
}

std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

int64_t LinearIndex(absl::Span<const int64_t> index, absl::Span<const int64_t> dims) {
  int64_t linear = 0;
  for (size_t i = 0; i < dims.size(); ++i) linear = linear * dims[i] + index[i];
  return linear;
}

DimVec MultiIndex(int64_t linear, absl::Span<const int64_t> dims) {
  DimVec index(dims.size());
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    index[i] = linear % dims[i];
    linear /= dims[i];
  }
  return index;
}

bool NextIndex(absl::Span<int64_t> index, absl::Span<const int64_t> dims) {
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

bool IsPermutation(absl::Span<const int64_t> order, int64_t size) {
  if (static_cast<int64_t>(order.size()) != size) return false;
  absl::InlinedVector<bool, 8> seen(size, false);
  for (const int64_t i : order) {
    if (i < 0 || i >= size || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

DimVec InversePermutation(absl::Span<const int64_t> order) {
  DimVec inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

DimVec Permute(absl::Span<const int64_t> dims, absl::Span<const int64_t> order) {
  DimVec result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[i] = dims[order[i]];
  return result;
}

bool ReshapeIsBitcast(Shape from, Shape to) {
  if (!BothLaidOut(from, to) || from.element_count() != to.element_count()) return false;
  if (!SameProperties(from.layout(), to.layout())) return false;
  // Tiles and splits make the place depend on the dimensions; then only a change of nothing is
  // free.
  const Layout& layout = from.layout();
  if (!layout.tiles.empty() || !layout.split_configs.empty()) {
    return from.dims() == to.dims() && layout == to.layout();
  }
  return from.element_count() == 0 || AddressRuns(from) == AddressRuns(to);
}

bool TransposeIsBitcast(Shape from, Shape to, absl::Span<const int64_t> dimensions) {
  if (!BothLaidOut(from, to) || !SameProperties(from.layout(), to.layout())) return false;
  // The sizes of `to` in the order of its memory, seen as dimensions of `from`, must be those of
  // `from`.
  const bool exact = !from.layout().tiles.empty() || !from.layout().split_configs.empty();
  if (!exact && from.element_count() == 0) return true;
  DimVec source_order, target_order;
  for (const int64_t dim : from.layout().minor_to_major) {
    if (exact || from.dim(static_cast<int>(dim)) != 1) source_order.push_back(dim);
  }
  for (const int64_t dim : to.layout().minor_to_major) {
    if (exact || to.dim(static_cast<int>(dim)) != 1) target_order.push_back(dimensions[dim]);
  }
  return source_order == target_order;
}

std::vector<std::pair<int64_t, int64_t>> CommonFactors(absl::Span<const int64_t> from,
                                                       absl::Span<const int64_t> to) {
  const auto from_rank = static_cast<int64_t>(from.size());
  const auto to_rank = static_cast<int64_t>(to.size());
  std::vector<std::pair<int64_t, int64_t>> starts;
  int64_t i = 0, j = 0;
  for (; i < from_rank && j < to_rank && from[i] == to[j]; ++i, ++j) starts.emplace_back(i, j);
  if (i == from_rank && j == to_rank) {
    starts.emplace_back(i, j);
    return starts;
  }
  // Products cannot tell groups apart once a size is 0: what is left is one group.
  if (Product(from.subspan(i)) == 0) {
    starts.emplace_back(i, j);
    starts.emplace_back(from_rank, to_rank);
    return starts;
  }
  int64_t from_product = 1, to_product = 1;
  while (true) {
    if (from_product == to_product) starts.emplace_back(i, j);
    if (i == from_rank && j == to_rank) return starts;
    // The side that is behind goes on; if neither is, the one with the smaller next size, or both.
    const bool level = from_product == to_product;
    const bool step_from = from_product < to_product ||
                           (i < from_rank && (j == to_rank || (level && from[i] <= to[j])));
    const bool step_to = to_product < from_product ||
                         (j < to_rank && (i == from_rank || (level && to[j] <= from[i])));
    if (step_from) from_product *= from[i++];
    if (step_to) to_product *= to[j++];
  }
}

}  // namespace hlo
