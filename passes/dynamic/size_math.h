// Arithmetic on sizes, and what is built of them: masks, the old form of tuples that grew.
#pragma once

#include "absl/types/span.h"
#include "lib/ir/builder.h"
#include "lib/types/window.h"

namespace hlo {

// A builder at the place of `like`.
Builder BuilderFor(const Instruction& like);

// A constant s32 scalar.
Instruction* SizeConstant(Builder& builder, int64_t size);

// Which elements of an array of these dimensions are there: iota(dim) < size.
Instruction* InsideMask(Builder& builder, absl::Span<const int64_t> dims, int64_t dim,
                        Instruction* size);
// `array` with `filler`, a scalar, after the first `size` elements of a dimension; static.
Instruction* MaskedArray(Builder& builder, Instruction* array, int64_t dim, Instruction* size,
                         Instruction* filler);

// What a window makes of a dimension of a size known at run time.
struct DynamicWindow {
  Instruction* output_size;
  Instruction* padding_before;
};
DynamicWindow ValidWindow(Builder& builder, Instruction* input_size, const WindowDim& window);
// Padding such that the output is the input divided by the stride, rounded up.
DynamicWindow SameWindow(Builder& builder, Instruction* input_size, const WindowDim& window);

// Makes `value` a tuple of its elements (of itself, when it is none) and of `extra`. Whoever read
// the whole of it, its computation's root included, gets the old form, which is returned; null when
// nobody did.
Instruction* GrowTuple(Instruction* value, absl::Span<const Shape> extra);

}  // namespace hlo
