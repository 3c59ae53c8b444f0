#include "passes/collectives/schedule_aware_collective_cse.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/region.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kShared = {Opcode::kAllGather,     Opcode::kAllReduce,
                               Opcode::kAllToAll,      Opcode::kCollectiveBroadcast,
                               Opcode::kReduceScatter, Opcode::kCollectivePermute};

// What two collectives share that give the same of the same operand; channels are only names. Empty
// where the collective is left alone.
std::string KeyOf(const Instruction& collective, bool for_replicas) {
  if (!kShared.Has(collective.opcode()) || collective.operand_count() != 1 ||
      collective.has_control_edges())
    return "";
  AttrPrintOptions print;
  print.channel_id = false;
  std::string attrs;
  collective.attrs_ptr().Print(print, /*after_calls=*/false, attrs);
  collective.attrs_ptr().Print(print, /*after_calls=*/true, attrs);
  if (attrs.find("constrain_layout=true") != std::string::npos ||
      (attrs.find("channel_id=") != std::string::npos) == for_replicas)
    return "";
  std::string combine;
  if (collective.call_count() > 0) {
    const std::optional<Opcode> opcode = CombinerOpcode(*collective.call(0));
    if (!opcode) return "";
    combine = Text(*opcode);
  }
  return fmt::format("{} {} {} {}", collective.opcode_text(), collective.shape().Text(), combine,
                     attrs);
}

// The steps from each instruction to the end of the computation, along the longest way.
absl::flat_hash_map<const Instruction*, int64_t> Heights(const std::vector<Instruction*>& order) {
  absl::flat_hash_map<const Instruction*, int64_t> heights;  // looked up only
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    int64_t height = 0;
    for (const Use& use : (*it)->uses()) height = std::max(height, heights.at(use.user) + 1);
    heights[*it] = height;
  }
  return heights;
}

}  // namespace

absl::StatusOr<bool> ScheduleAwareCollectiveCse::RunOn(Computation& computation,
                                                       PassContext& context) const {
  const std::vector<Instruction*> order = computation.PostOrder();
  absl::flat_hash_map<const Instruction*, int64_t> heights;  // when there is something to compare
  const auto last_read = [&](const Instruction& earlier) {
    int64_t lowest = heights.at(&earlier);
    for (const Use& use : earlier.uses()) lowest = std::min(lowest, heights.at(use.user));
    return lowest;
  };
  std::map<std::pair<uint32_t, std::string>, Instruction*> known;  // by operand and key
  bool changed = false;
  for (Instruction* collective : order) {
    const std::string key = KeyOf(*collective, options_.for_replicas);
    if (key.empty()) continue;
    Instruction*& earlier = known[{collective->operand(0)->id(), key}];
    if (earlier == nullptr) {
      earlier = collective;
      continue;
    }
    if (heights.empty()) heights = Heights(order);
    if (last_read(*earlier) > heights.at(collective) + options_.distance_threshold) {
      context.Missed(*collective, "the earlier one is read too long before");
      earlier = collective;
      continue;
    }
    if (!context.MayRewrite()) return changed;
    context.Passed(*collective, "`{}` gives the same", earlier->name());
    ReplaceKeepingExtras(collective, earlier, computation.module().id_limit());
    context.Count("merged");
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> ScheduleAwareCollectiveCse::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module, kShared),
                    [&](Computation& computation) { return RunOn(computation, context); });
}

HLO_DEFINE_PASS(ScheduleAwareCollectiveCse)

}  // namespace hlo
