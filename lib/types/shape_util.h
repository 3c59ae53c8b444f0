// Questions about shapes: strides, indices, leaves, bitcasts. Multi-indices are logical, linear
// indices row-major unless said otherwise.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "lib/types/shape.h"

namespace hlo {

// A path into nested tuples: {} is the whole value, {1,0} element 0 of element 1.
using ShapeIndex = absl::InlinedVector<int64_t, 4>;

// "{1,0}"
std::string ToString(const ShapeIndex& index);
// The shape at `index`; requires IndexIsValid.
Shape SubShape(Shape shape, const ShapeIndex& index);
bool IndexIsValid(Shape shape, const ShapeIndex& index);
// Calls fn for every shape in the tree, pre-order, the whole included.
void ForEachSubShape(Shape shape, const std::function<void(Shape, const ShapeIndex&)>& fn);
// Calls fn for every non-tuple leaf, in order.
void ForEachLeaf(Shape shape, const std::function<void(Shape, const ShapeIndex&)>& fn);
int64_t LeafCount(Shape shape);
// Bytes in memory of the array, or of all arrays of the tuple.
int64_t ArrayBytes(Shape shape);

// Row-major strides in elements.
DimVec RowMajorStrides(absl::Span<const int64_t> dims);
// Strides in elements that follow minor_to_major (no tiles).
DimVec LayoutStrides(Shape shape);
int64_t Product(absl::Span<const int64_t> dims);
// Product that reports overflow of int64.
std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> dims);
int64_t LinearIndex(absl::Span<const int64_t> index, absl::Span<const int64_t> dims);
DimVec MultiIndex(int64_t linear, absl::Span<const int64_t> dims);
// Advances a row-major odometer; false after the last index.
bool NextIndex(absl::Span<int64_t> index, absl::Span<const int64_t> dims);

bool IsPermutation(absl::Span<const int64_t> order, int64_t size);
DimVec InversePermutation(absl::Span<const int64_t> order);
DimVec Permute(absl::Span<const int64_t> dims,
               absl::Span<const int64_t> order);  // r[i] = dims[order[i]]

// Whether a reshape / transpose between these shapes moves no bytes, layouts considered.
bool ReshapeIsBitcast(Shape from, Shape to);
bool TransposeIsBitcast(Shape from, Shape to, absl::Span<const int64_t> dimensions);

// Groups of consecutive dimensions whose products are equal: pairs (first input dim, first output
// dim) as XLA's common factors; ends with (rank_in, rank_out). Requires equal products.
std::vector<std::pair<int64_t, int64_t>> CommonFactors(absl::Span<const int64_t> from,
                                                       absl::Span<const int64_t> to);

// Structural checks of a shape as text or inference may give it: sizes not negative, no overflow,
// layout is a permutation, tiles and split configs sound. The message names the offending part.
absl::Status ValidateShape(Shape shape);

}  // namespace hlo
