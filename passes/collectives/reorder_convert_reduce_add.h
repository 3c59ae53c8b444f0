// Converts before devices reduce, where a loop sums up the result: the reduction may then be moved
// out of the loop.
//
//   add(f32[4] convert(bf16[4] all-reduce(x)), state.i)      =>   add(all-reduce(f32[4] convert(x)), state.i)
//
// The reduction is then done, and carried, in the type of the sum. Option `enable_reduce_scatter`:
// reduce-scatters, too.
//
// Requires: nothing.
// Leaves alone: what is not the body of a loop itself; control edges; conversions after which the
// sum would be another (`MayConvertBefore`; XLA takes all); unlike XLA, reductions and conversions
// that something else reads: they would be done twice.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ReorderConvertReduceAddOptions {
  bool enable_reduce_scatter = false;

  HLO_OPTIONS(ReorderConvertReduceAddOptions, enable_reduce_scatter)
};

class ReorderConvertReduceAdd final : public WithOptions<Pass, ReorderConvertReduceAddOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
