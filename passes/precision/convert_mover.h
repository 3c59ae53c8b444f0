// Moves conversions to where arrays are smaller, or values fewer.
//
//   transpose(f32[4,3] convert(bf16[4,3] x))    =>   f32[3,4] convert(transpose(x))
//   bf16[8] convert(f32[8] concatenate(x, y))   =>   concatenate(convert(x), convert(y))
//
// Widening conversions go down, narrowing ones up. So what only moves elements moves narrow ones:
// concatenate, pad, reshape, slice, transpose. Beside widened values such an operation may read
// constants that the narrow type holds exactly.
//
// Requires: nothing.  Ensures: no such operation reads only widened values, or is read by one
// narrowing alone.
// Leaves alone: conversions that something else reads, too, or of which several operands are
// different; types of less than a byte; control edges.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertMover final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
