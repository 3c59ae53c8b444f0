#include "passes/collectives/reduce_scatter_combiner.h"

#include "lib/analysis/region.h"
#include "passes/collectives/collective_combiner.h"
#include "passes/util/constrained_layout.h"

namespace hlo {

absl::StatusOr<bool> ReduceScatterCombiner::Run(Module& module, PassContext& context) {
  if (AnyConstrainsLayout(module, Opcode::kReduceScatter)) return false;
  const auto key = [&](const Instruction& scatter) -> std::string {
    const std::optional<Opcode> combine = CombinerOpcode(*scatter.to_apply());
    if (!combine) return "";
    const auto& attrs = scatter.attrs<ReduceScatterAttrs>();
    return fmt::format("{} {} {} {} {} {}", Text(*combine), Text(scatter.shape().element_type()),
                       options_.combine_by_dim ? attrs.dimensions.value : -1,
                       attrs.channel_id.has_value(), attrs.use_global_device_ids,
                       attrs.replica_groups.ToString(true));
  };
  return CombineCollectives(module, Opcode::kReduceScatter, key,
                            {options_.combine_threshold_in_bytes, options_.combine_threshold_count,
                             options_.combine_while_loops},
                            context);
}

HLO_DEFINE_PASS(ReduceScatterCombiner)

}  // namespace hlo
