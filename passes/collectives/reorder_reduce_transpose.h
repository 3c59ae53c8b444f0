// Transposes before devices reduce and scatter, where a loop sums up the result: the reduce-scatter
// may then be moved out of the loop.
//
//   add(transpose(reduce-scatter(x)), state.i)            =>   add(reduce-scatter(transpose(x)), state.i)
//   add(transpose(convert(reduce-scatter(x))), state.i)   =>   add(reduce-scatter(transpose(convert(x))), state.i)
//   dynamic-update-slice(s, reshape(transpose(…)), …)     likewise
//
// The dimension moves along. It is the first reader of the transpose that counts.
//
// Requires: nothing.
// Leaves alone: what is not the body of a loop itself; control edges; conversions after which the
// sum would be another (`MayConvertBefore`; XLA takes all); all-reduces; unlike XLA,
// reduce-scatters and conversions that something else reads: they would be done twice.
#pragma once

#include "passes/collectives/collective_rewrite_pass.h"

namespace hlo {

class ReorderReduceTranspose final : public CollectiveRewritePass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  ReorderReduceTranspose();
};

}  // namespace hlo
