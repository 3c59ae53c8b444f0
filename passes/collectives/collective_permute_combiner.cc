#include "passes/collectives/collective_permute_combiner.h"

#include "passes/collectives/collective_combiner.h"

namespace hlo {

absl::StatusOr<bool> CollectivePermuteCombiner::Run(Module& module, PassContext& context) {
  const auto key = [](const Instruction& permute) {
    const auto& attrs = permute.attrs<CollectivePermuteAttrs>();
    std::string text = attrs.channel_id ? "channel" : "none";
    for (const auto& [source, target] : attrs.source_target_pairs)
      text += fmt::format(" {},{}", source, target);
    return text;
  };
  return CombineCollectives(module, Opcode::kCollectivePermute, key,
                            {options_.combine_threshold_in_bytes, options_.combine_threshold_count},
                            context);
}

HLO_DEFINE_PASS(CollectivePermuteCombiner)

}  // namespace hlo
