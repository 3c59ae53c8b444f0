#include "passes/collectives/all_reduce_combiner.h"

#include "lib/analysis/region.h"
#include "passes/collectives/collective_combiner.h"
#include "passes/util/constrained_layout.h"

namespace hlo {
namespace {

std::string KeyOf(const Instruction& reduce) {
  const std::optional<Opcode> combine = CombinerOpcode(*reduce.to_apply());
  if (!combine) return "";
  const auto& attrs = reduce.attrs<AllReduceAttrs>();
  return fmt::format("{} {} {} {} {}", Text(*combine), Text(reduce.shape().element_type()),
                     attrs.channel_id.has_value(), attrs.use_global_device_ids,
                     attrs.replica_groups.ToString(true));
}

}  // namespace

absl::StatusOr<bool> AllReduceCombiner::Run(Module& module, PassContext& context) {
  if (AnyConstrainsLayout(module, Opcode::kAllReduce)) return false;
  return CombineCollectives(module, Opcode::kAllReduce, KeyOf,
                            {options_.combine_threshold_in_bytes, options_.combine_threshold_count},
                            context);
}

HLO_DEFINE_PASS(AllReduceCombiner)

}  // namespace hlo
