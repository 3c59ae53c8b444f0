// Makes one kernel of reductions that do not read each other but have a common reader.
//
//   r = f32[] fusion(a), kind=kInput, calls={reduce}
//   s = f32[] fusion(b), kind=kInput, calls={reduce}
//   t = tuple(r, s)
//     =>   f = (f32[], f32[]) fusion(a, b), kind=kInput, calls={tuple(reduce, reduce)}
//          t = tuple(get-tuple-element(f), index=0, get-tuple-element(f), index=1)
//
// Reductions are tried in the order of the dimensions of what they reduce, then of their size; each
// joins the one before it or is the next to be joined.
//
// Requires: nothing. Ensures: reductions that were looked at are in fusions.
// Leaves alone: reductions that others read, too, or that loops do better than warps; other sizes
// or dimensions than each other's; kernels that would have too many operands or too little shared
// memory; control edges and shardings; computations that run per element.
#pragma once

#include "passes/pass.h"

namespace hlo {

class HorizontalInputFusion final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
