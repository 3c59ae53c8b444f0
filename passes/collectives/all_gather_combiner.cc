#include "passes/collectives/all_gather_combiner.h"

#include "passes/collectives/collective_combiner.h"
#include "passes/util/constrained_layout.h"

namespace hlo {

absl::StatusOr<bool> AllGatherCombiner::Run(Module& module, PassContext& context) {
  if (AnyConstrainsLayout(module, Opcode::kAllGather)) return false;
  const auto key = [&](const Instruction& gather) {
    const auto& attrs = gather.attrs<AllGatherAttrs>();
    return fmt::format(
        "{} {} {} {} {}", options_.combine_by_dim ? attrs.dimensions.value : -1,
        attrs.channel_id.has_value(), attrs.use_global_device_ids,
        attrs.replica_groups.ToString(true),
        options_.combine_different_dtypes ? "" : Text(gather.shape().element_type()));
  };
  return CombineCollectives(module, Opcode::kAllGather, key,
                            {options_.combine_threshold_in_bytes, options_.combine_threshold_count,
                             options_.combine_while_loops},
                            context);
}

HLO_DEFINE_PASS(AllGatherCombiner)

}  // namespace hlo
