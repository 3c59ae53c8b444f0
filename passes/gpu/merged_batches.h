// A product with two batch dimensions as one with a single batch dimension.
//
//   dot(f32[2,8,3,16] x, f32[2,3,16,4] y), lhs_batch_dims={0,2}, rhs_batch_dims={0,1}, …
//     =>   reshape(dot(f32[6,8,16] reshape(transpose(x)), f32[6,16,4] reshape(y)),
//                  lhs_batch_dims={0}, rhs_batch_dims={0}, …)
//
// The second batch dimension of a side moves after the first where it is not there already.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

struct MergedProduct {
  Instruction *lhs, *rhs;
  DotAttrs attrs;
  Shape shape;  // of the dot of these
};

// `dot` has two batch dimensions and one contracted dimension on each side.
MergedProduct WithMergedBatches(const Instruction& dot, Rewriter& b);

}  // namespace hlo
