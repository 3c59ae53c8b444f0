// Moves conversions to where arrays are smaller, or values fewer.
//
//   transpose(f32[4,3] convert(bf16[4,3] x))       =>   f32[3,4] convert(transpose(x))          widening: down
//   bf16[8] convert(f32[8] concatenate(x, y))      =>   concatenate(convert(x), convert(y))     narrowing: up
//
// So what only moves elements moves narrow ones: broadcast, concatenate, copy, dynamic-slice,
// gather, pad, reshape, reverse, slice, transpose, all-gather, all-to-all, collective-permute.
//
// Requires: nothing.  Ensures: no such operation reads only widened values, or is read by one
// narrowing alone.
// Leaves alone: conversions between kinds of numbers; those of which several operands are
// different; control edges.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertMover final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
