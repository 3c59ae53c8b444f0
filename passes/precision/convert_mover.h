// Moves conversions to where arrays are smaller, or values fewer.
//
//   transpose(f32[4,3] convert(bf16[4,3] x))       =>   f32[3,4] convert(transpose(x))          widening: down
//   bf16[8] convert(f32[8] concatenate(x, y))      =>   concatenate(convert(x), convert(y))     narrowing: up
//
//   f32[9] pad(convert(bf16[8] x), f32[] 0)        =>   convert(pad(x, convert(0)))             constants that fit
//
// So what only moves elements moves narrow ones: concatenate, pad, reshape, slice, transpose.
// Narrow is the type of fewer bits, whatever its kind: nothing is computed with the values.
//
// Requires: nothing.  Ensures: no such operation reads only widened values that nobody else reads
// (and constants that fit), or is read by one narrowing alone.
// Leaves alone: arrays of which several values share a byte; widenings with several readers, or
// from several types; constants that the narrow type does not hold; control edges.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertMover final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
