// Makes a fusion of each instruction that stands alone and computes a loop over elements: back ends
// then have one kind of kernel.
//
//   n = f32[4] negate(x)     =>     wrapped_negate = f32[4] fusion(x), kind=kLoop, calls={ negate }
//
// Wrapped are elementwise operations, reductions and windows, maps, gathers and scatters, and what
// reads an array at other places (broadcast, reshape, slice, pad, reverse, iota).
//
// Requires: nothing.  Ensures: none of these stands outside of fusions.
// Leaves alone: what nobody reads; copies, transposes, concatenations, updates in place; products,
// sorts, transforms and what else is a library's; what fusions and regions have inside.
#pragma once

#include "passes/pass.h"

namespace hlo {

class FusionWrapper final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
