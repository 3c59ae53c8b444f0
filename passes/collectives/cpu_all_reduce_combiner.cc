#include "passes/collectives/cpu_all_reduce_combiner.h"

#include "passes/collectives/all_reduce_combiner.h"

namespace hlo {

absl::StatusOr<bool> CpuAllReduceCombiner::Run(Module& module, PassContext& context) {
  return AllReduceCombiner({options_.combine_threshold_in_bytes, options_.combine_threshold_count})
      .Run(module, context);
}

HLO_DEFINE_PASS(CpuAllReduceCombiner)

}  // namespace hlo
