#include "passes/collectives/schedule_aware_collective_cse.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/util/constrained_layout.h"

namespace hlo {
namespace {

constexpr OpcodeSet kShared = {Opcode::kAllGather, Opcode::kAllReduce, Opcode::kCollectivePermute};

// An all-reduce of what each device has written its part of.
bool GathersByUpdates(const Instruction& reduce) {
  const Instruction& operand = *reduce.operand(0);
  return reduce.shape().IsArray() && operand.opcode() == Opcode::kDynamicUpdateSlice &&
         operand.operand(0)->opcode() == Opcode::kBroadcast;
}

bool MayShare(const Instruction& collective, bool for_replicas) {
  if (!kShared.Has(collective.opcode()) || collective.operand_count() != 1) return false;
  if (collective.opcode() == Opcode::kCollectivePermute)
    return collective.attrs<CollectivePermuteAttrs>().channel_id.has_value() != for_replicas;
  if (ConstrainsLayout(collective)) return false;
  if (collective.opcode() == Opcode::kAllGather)
    return collective.attrs<AllGatherAttrs>().channel_id.has_value() != for_replicas;
  return collective.attrs<AllReduceAttrs>().channel_id.has_value() != for_replicas &&
         GathersByUpdates(collective);
}

// What two collectives share that give the same of the same operand; channels are only names.
std::string SharedKey(const Instruction& collective) {
  AttrPrintOptions print;
  print.channel_id = false;
  std::string attrs;
  collective.attrs_ptr().Print(print, /*after_calls=*/false, attrs);
  collective.attrs_ptr().Print(print, /*after_calls=*/true, attrs);
  std::string combine;
  if (collective.call_count() > 0) {
    const std::optional<Opcode> opcode = CombinerOpcode(*collective.call(0));
    combine = opcode ? std::string(Text(*opcode)) : std::string(collective.call(0)->name());
  }
  return fmt::format("{} {} {} {} {}", collective.opcode_text(), collective.shape().Text(), combine,
                     attrs, collective.backend_config());
}

// `value` without reshapes that only add dimensions of size 1.
const Instruction* BeforeAddedOnes(const Instruction* value) {
  constexpr OpcodeSet kReshapes = {Opcode::kBitcast, Opcode::kReshape};
  while (kReshapes.Has(value->opcode())) {
    const Shape from = value->operand(0)->shape(), to = value->shape();
    if (from.element_type() != to.element_type() || from.has_dynamic_dims() ||
        to.has_dynamic_dims())
      break;
    int kept = 0;
    for (const int64_t size : to.dims()) {
      if (kept < from.rank() && size == from.dim(kept)) {
        ++kept;
      } else if (size != 1) {
        return value;
      }
    }
    if (kept != from.rank()) break;
    value = value->operand(0);
  }
  return value;
}

// How far each instruction is from the end of the computation, as XLA counts it: by one for each
// reader at least.
absl::flat_hash_map<const Instruction*, int64_t> Heights(const std::vector<Instruction*>& order) {
  absl::flat_hash_map<const Instruction*, int64_t> heights;  // looked up only
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    int64_t height = 0;
    absl::flat_hash_set<const Instruction*> seen;  // looked up only
    for (const Use& use : (*it)->uses()) {
      if (seen.insert(use.user).second) height = std::max(height, heights.at(use.user)) + 1;
    }
    heights[*it] = height;
  }
  return heights;
}

class CollectiveSharer {
 public:
  CollectiveSharer(Computation& computation, int64_t distance, PassContext& context)
      : computation_(computation), distance_(distance), context_(context) {}

  bool Run(bool for_replicas) {
    const std::vector<Instruction*> order = computation_.PostOrder();
    bool changed = false;
    for (Instruction* collective : order) {
      if (!MayShare(*collective, for_replicas)) continue;
      const uint32_t operand = BeforeAddedOnes(collective->operand(0))->id();
      const auto [it, is_first] =
          known_.emplace(std::pair(operand, SharedKey(*collective)), collective);
      if (is_first) continue;
      if (heights_.empty()) heights_ = Heights(order);
      if (IsTooFar(*it->second, *collective)) {
        context_.Missed(*collective, "the earlier one is read too long before");
        continue;
      }
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*collective, "`{}` gives the same", it->second->name());
      TakeInstead(collective, it->second);
      context_.Count("merged");
      changed = true;
    }
    return changed;
  }

 private:
  bool IsTooFar(const Instruction& earlier, const Instruction& later) const {
    if (later.opcode() == Opcode::kCollectivePermute) return false;
    int64_t lowest = heights_.at(&earlier);
    for (const Use& use : earlier.uses()) lowest = std::min(lowest, heights_.at(use.user));
    return lowest > heights_.at(&later) + distance_;
  }

  // The earlier one is left as it is. One with control edges stays, without readers.
  void TakeInstead(Instruction* collective, Instruction* earlier) {
    collective->ReplaceAllUsesWith(earlier);
    if (collective->is_root()) computation_.set_root(earlier);
    if (!collective->has_control_edges()) computation_.RemoveUnused(collective);
  }

  Computation& computation_;
  const int64_t distance_;
  PassContext& context_;
  absl::flat_hash_map<const Instruction*, int64_t> heights_;  // when there is something to compare
  std::map<std::pair<uint32_t, std::string>, Instruction*> known_;  // by operand and key
};

}  // namespace

absl::StatusOr<bool> ScheduleAwareCollectiveCse::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, kShared)) {
    changed |= CollectiveSharer(*computation, options_.distance_threshold, context)
                   .Run(options_.for_replicas);
  }
  return changed;
}

HLO_DEFINE_PASS(ScheduleAwareCollectiveCse)

}  // namespace hlo
