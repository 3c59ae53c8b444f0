#include "passes/collectives/all_gather_combiner.h"

#include "passes/collectives/collective_combiner.h"

namespace hlo {

absl::StatusOr<bool> AllGatherCombiner::Run(Module& module, PassContext& context) {
  const auto key = [&](const Instruction& gather) {
    const auto& attrs = gather.attrs<AllGatherAttrs>();
    return fmt::format(
        "{} {} {} {} {} {}", attrs.dimensions.value, attrs.constrain_layout,
        attrs.channel_id.has_value(), attrs.use_global_device_ids,
        attrs.replica_groups.ToString(true),
        options_.combine_different_dtypes ? "" : Text(gather.shape().element_type()));
  };
  return CombineCollectives(module, Opcode::kAllGather, key,
                            {options_.combine_threshold_in_bytes, options_.combine_threshold_count},
                            context);
}

HLO_DEFINE_PASS(AllGatherCombiner)

}  // namespace hlo
