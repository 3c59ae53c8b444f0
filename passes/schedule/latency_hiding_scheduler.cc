#include "passes/schedule/latency_hiding_scheduler.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "lib/ir/call_order.h"
#include "passes/schedule/latency_schedule.h"
#include "passes/schedule/overlap_schedule.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

// Collectives and transfers have orders of their own: tokens, control edges, the same program.
bool KeepsItsPlace(const Instruction& instruction, SideEffects& effects) {
  const Opcode opcode = instruction.opcode();
  if (HasTrait(opcode, kCollective) || HasTrait(opcode, kAsyncStart) ||
      HasTrait(opcode, kAsyncDone) || opcode == Opcode::kAsyncUpdate ||
      opcode == Opcode::kParameter)
    return false;
  return effects.Of(instruction);
}

// The order that hides most within the limit. Room is kept in reserve when what looked affordable
// leads to more memory later.
LatencySchedule::Order BestOrder(const LatencySchedule& schedule, int64_t limit) {
  LatencySchedule::Order given = schedule.Given();
  if (!schedule.HasPairs()) return given;
  for (const double share : {1.0, 0.9, 0.75, 0.5, 0.25}) {
    const auto aim = static_cast<int64_t>(static_cast<double>(limit) * share);
    LatencySchedule::Order order = schedule.Hiding(limit == 0 ? INT64_MAX : aim);
    const bool fits = limit == 0 || order.peak_bytes <= std::max(limit, given.peak_bytes);
    if (fits && order.seconds <= given.seconds) return order;
    if (limit == 0) break;
  }
  return given;
}

bool IsForcedLate(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall &&
         FrontendAttribute(instruction, "scheduler_hint") == "force_delay";
}

// Bytes that an instruction needs for what it calls.
int64_t MostOfCallees(const Instruction& instruction, const std::vector<int64_t>& peaks) {
  int64_t bytes = 0;
  for (const Computation* callee : instruction.calls())
    bytes = std::max(bytes, peaks[callee->serial()]);
  return bytes;
}

bool SetOrder(Computation& computation, std::vector<Instruction*> sequence, PassContext& context) {
  if (computation.has_schedule() && computation.schedule() == sequence) return false;
  if (computation.has_schedule()) context.Count("computations in another order");
  computation.set_schedule(std::move(sequence));
  return true;
}

}  // namespace

absl::StatusOr<bool> LatencyHidingScheduler::RunByTimes(Module& module,
                                                        PassContext& context) const {
  const auto all = AllPlatformRates();
  const auto rates = std::find_if(all.begin(), all.end(), [this](const PlatformRates& row) {
    return row.platform == options_.platform;
  });
  if (rates == all.end())
    return Error("nothing is known of the speed of platform `{}`", options_.platform);
  const Values& values = context.analyses().Get<Values>(module);
  SideEffects& effects = context.analyses().Get<SideEffects>(module);
  const Durations durations(module, *rates);
  std::vector<int64_t> peaks(module.serial_limit(), 0);
  bool changed = false;
  for (Computation* computation : CalleesFirst(context.NonFusionComputations(module))) {
    std::vector<Instruction*> sequence = computation->SequenceOrPostOrder();
    if (values.Has(*computation->root())) {
      const LatencySchedule schedule(
          sequence, values, durations,
          [&peaks](const Instruction& instruction) { return MostOfCallees(instruction, peaks); },
          [&effects](const Instruction& instruction) {
            return KeepsItsPlace(instruction, effects);
          });
      const double before = schedule.Given().seconds;
      LatencySchedule::Order order = BestOrder(schedule, options_.memory_limit_bytes);
      peaks[computation->serial()] = order.peak_bytes;
      if (schedule.HasPairs()) {
        context.Found(*computation->root(), "`{}` takes {:.3g} us, not {:.3g}, with {} bytes",
                      computation->name(), order.seconds * 1e6, before * 1e6, order.peak_bytes);
      }
      sequence = std::move(order.sequence);
    }
    changed |= SetOrder(*computation, std::move(sequence), context);
  }
  return changed;
}

absl::StatusOr<bool> LatencyHidingScheduler::RunByUnits(Module& module,
                                                        PassContext& context) const {
  const Values& values = context.analyses().Get<Values>(module);
  const AliasSets& sets = context.analyses().Get<AliasSets>(module);
  SideEffects& effects = context.analyses().Get<SideEffects>(module);
  OverlapResources resources(module, options_);
  std::vector<int64_t> peaks(module.serial_limit(), 0);
  bool changed = false;
  for (Computation* computation : CalleesFirst(context.NonFusionComputations(module))) {
    std::vector<Instruction*> sequence = computation->SequenceOrPostOrder();
    const bool has_work = absl::c_any_of(sequence, [&](const Instruction* instruction) {
      return resources.IsStart(*instruction) || resources.IsDone(*instruction) ||
             IsForcedLate(*instruction);
    });
    OverlapMemory memory(sequence, values, sets, [&peaks](const Instruction& instruction) {
      return MostOfCallees(instruction, peaks);
    });
    if (has_work) {
      OverlapGraph graph(sequence, resources, values, sets,
                         [&effects](const Instruction& instruction) {
                           return KeepsItsPlace(instruction, effects);
                         });
      ASSIGN_OR_RETURN(sequence, OverlapSchedule(graph, memory, resources, options_).Make());
    } else {
      for (size_t i = sequence.size(); i-- > 0;) memory.Add(static_cast<uint32_t>(i));
    }
    peaks[computation->serial()] = memory.peak_bytes();
    resources.SetOrder(*computation, sequence);
    changed |= SetOrder(*computation, std::move(sequence), context);
  }
  return changed;
}

absl::StatusOr<bool> LatencyHidingScheduler::Run(Module& module, PassContext& context) {
  if (options_.memory_limit_bytes < 0)
    return Error("`memory_limit_bytes` is {}, expected 0 or more", options_.memory_limit_bytes);
  if (!context.MayRewrite()) return false;
  bool changed = !module.is_scheduled();
  ASSIGN_OR_RETURN(const bool reordered, options_.platform.empty() ? RunByUnits(module, context)
                                                                   : RunByTimes(module, context));
  changed |= reordered;
  module.set_scheduled(true);
  return changed;
}

HLO_DEFINE_PASS(LatencyHidingScheduler)

}  // namespace hlo
