// Writes small products as sums where a call into the library costs more than they do: the products
// of loops, which become part of the loop's code, batches of small products, and products with a
// small matrix or vector on the right.
//
//   d = f32[4,6] dot(f32[4,5] x, f32[5,6] y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//       =>   d = reduce(multiply(broadcast(x), broadcast(y))) over the middle dimension of f32[4,5,6]
//
// The sum runs over the dimension in the middle where the rows of y are contiguous there, else over
// the last one. Floats narrower than f32 are multiplied and added in f32, and rounded once.
//
// Requires: nothing.  Leaves alone: products with more than 8192 multiplications in a loop, or,
// anywhere, more than 1024 per entry of a batch of at least 16 and a right matrix larger than 32 by
// 1, 16 by 4 and 8 by 16; such whose vectors do not lie side by side in memory; those of pred, of
// dynamic shapes, without contracting dimensions, or with an `algorithm`; fusion bodies, and what
// runs asynchronously.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CpuSmallDots final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
