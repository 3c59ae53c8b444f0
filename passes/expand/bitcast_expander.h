// Writes bitcasts between layouts as transposes and reshapes.
//
//   f32[6]{0} bitcast(f32[2,3]{0,1} x)      =>   t = f32[3,2]{1,0} transpose(x), dimensions={1,0}
//                                                r = f32[6]{0} reshape(t)
//
// A bitcast keeps the bytes, so under other layouts it moves elements: transposed to the order of
// the operand's memory, cut anew into the sizes of the result's memory (by a bitcast between
// row-major arrays if the element types differ or a dimension is dynamic), and transposed back. For
// platforms whose arrays are row-major whatever layouts say.
//
// Requires: nothing.  Ensures: all bitcasts of arrays, those in fusion bodies too, keep the
// row-major order of the elements or are between row-major layouts.
// Leaves alone: bitcasts to another number of bytes, tuples.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class BitcastExpander final : public RewritePass {
 public:
  BitcastExpander();
};

}  // namespace hlo
