// Starts collectives and waits for them later: the start and the done, between which a scheduler
// may put other work.
//
//   r = f32[4] all-reduce(x), to_apply=add
//       =>   s = f32[4] all-reduce-start(x), to_apply=add
//            r = f32[4] all-reduce-done(s)
//
// all-gather and collective-permute have such a pair as well; of the others, and of all with
// `use_generic_async_start_done`, the start wraps a computation (async-start). The start of a
// reduction, or of a permute in place, then says what it writes over (output_to_operand_aliasing),
// as in XLA. What stood before the collective by a control edge stands before the start, what stood
// after it after the done.
//
// Requires: nothing.  Leaves alone: opcodes switched off (fusions are, unless
// `convert_collective_fusion` says that they hold collectives), results under the thresholds
// (all-reduce, all-gather, reduce-scatter), fusion bodies.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct AsyncCollectiveCreatorOptions {
  bool convert_all_reduce = true;
  bool convert_all_gather = true;
  bool convert_collective_broadcast = true;
  bool convert_collective_permute = true;
  bool convert_all_to_all = true;
  bool convert_reduce_scatter = true;
  bool convert_ragged_all_to_all = true;
  bool convert_collective_fusion = false;
  bool use_generic_async_start_done = false;
  IntIn<0> all_reduce_min_threshold_in_bytes{0};
  IntIn<0> all_gather_min_threshold_in_bytes{0};
  IntIn<0> reduce_scatter_min_threshold_in_bytes{0};

  HLO_OPTIONS(AsyncCollectiveCreatorOptions, convert_all_reduce, convert_all_gather,
              convert_collective_broadcast, convert_collective_permute, convert_all_to_all,
              convert_reduce_scatter, convert_ragged_all_to_all, convert_collective_fusion,
              use_generic_async_start_done, all_reduce_min_threshold_in_bytes,
              all_gather_min_threshold_in_bytes, reduce_scatter_min_threshold_in_bytes)
};

class AsyncCollectiveCreator final : public WithOptions<Pass, AsyncCollectiveCreatorOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  bool IsWanted(const Instruction& instruction) const;
};

}  // namespace hlo
