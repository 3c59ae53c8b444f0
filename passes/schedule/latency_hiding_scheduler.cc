#include "passes/schedule/latency_hiding_scheduler.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "passes/schedule/latency_schedule.h"
#include "passes/schedule/overlap_schedule.h"
#include "passes/util/scheduling_annotation.h"

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

// Top down, groups begin with starts; one of halves alone would put a done right after its start.
absl::StatusOr<bool> MoveGroupsToStarts(const Computation& computation) {
  constexpr OpcodeSet kHalves = {Opcode::kAsyncStart, Opcode::kAsyncDone};
  std::map<SchedulingAnnotation, std::vector<Instruction*>> groups;
  for (Instruction* instruction : computation.instructions()) {
    ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> group,
                     SchedulingAnnotationOf(*instruction));
    if (group.has_value()) groups[*group].push_back(instruction);
  }
  bool changed = false;
  for (const auto& [group, members] : groups) {
    const bool is_of_halves = absl::c_all_of(
        members, [&](const Instruction* member) { return kHalves.Has(member->opcode()); });
    for (Instruction* member : members) {
      if (is_of_halves) {
        RemoveSchedulingAnnotation(member);
      } else if (Instruction* const start =
                     member->opcode() == Opcode::kAsyncDone ? member->operand(0) : nullptr;
                 start != nullptr && start->opcode() == Opcode::kAsyncStart &&
                 !HasSchedulingAnnotation(*start)) {
        SetSchedulingAnnotation(start, group);
        RemoveSchedulingAnnotation(member);
      } else {
        continue;
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> LatencyHidingScheduler::RunByTimes(Module& module,
                                                        PassContext& context) const {
  const PlatformRates& rates = RatesOf(options_.platform);
  const Values& values = context.analyses().Get<Values>(module);
  SideEffects& effects = context.analyses().Get<SideEffects>(module);
  const Durations durations(module, rates);
  std::vector<int64_t> peaks(module.serial_limit(), 0);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
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

// What is there when computations are called, by the serial of each, where there is a limit.
std::vector<std::vector<ValueId>> LiveAtCalls(const std::vector<Computation*>& callees_first,
                                              size_t serials, const Values& values,
                                              const AliasSets& sets, bool top_down) {
  std::vector<std::vector<ValueId>> live(serials);
  for (size_t i = callees_first.size(); i-- > 0;) {
    const Computation& computation = *callees_first[i];
    const std::vector<Instruction*> sequence = computation.SequenceOrPostOrder();
    OverlapMemory memory(
        sequence, values, sets, [](const Instruction&) { return 0; }, live[computation.serial()],
        top_down);
    for (size_t k = sequence.size(); k-- > 0;) {
      const size_t at = top_down ? sequence.size() - 1 - k : k;
      for (const Computation* callee : sequence[at]->calls()) {
        if (!callee->is_fusion()) live[callee->serial()] = memory.LiveSets();
      }
      memory.Add(static_cast<uint32_t>(at));
    }
  }
  return live;
}

absl::StatusOr<LatencyHidingScheduler::ByUnits> LatencyHidingScheduler::ScheduleByUnits(
    Module& module, PassContext& context, const Options& options) const {
  const Values& values = context.analyses().Get<Values>(module);
  const AliasSets& sets = context.analyses().Get<AliasSets>(module);
  SideEffects& effects = context.analyses().Get<SideEffects>(module);
  OverlapResources resources(module, options);
  const std::vector<Computation*> computations = context.NonFusionComputations(module);
  std::vector<int64_t> peaks(module.serial_limit(), 0);
  std::vector<std::vector<ValueId>> live(module.serial_limit());
  if (options.memory_limit_bytes > 0)
    live =
        LiveAtCalls(computations, module.serial_limit(), values, sets, options.top_down_scheduling);
  ByUnits result;
  for (Computation* computation : computations) {
    std::vector<Instruction*> sequence = computation->SequenceOrPostOrder();
    bool has_work = false;
    for (const Instruction* instruction : sequence) {
      RETURN_IF_ERROR(CheckHints(*instruction));
      has_work = has_work || resources.IsStart(*instruction) || resources.IsDone(*instruction) ||
                 IsForcedLate(*instruction);
    }
    OverlapMemory memory(
        sequence, values, sets,
        [&peaks](const Instruction& instruction) { return MostOfCallees(instruction, peaks); },
        live[computation->serial()], options.top_down_scheduling);
    if (has_work) {
      OverlapGraph graph(
          sequence, resources, values, sets,
          [&effects](const Instruction& instruction) {
            return KeepsItsPlace(instruction, effects);
          },
          options.top_down_scheduling);
      ASSIGN_OR_RETURN(sequence, OverlapSchedule(graph, memory, resources, options).Make());
      result.has_work = true;
    } else {
      for (size_t i = sequence.size(); i-- > 0;) {
        const size_t at = options.top_down_scheduling ? sequence.size() - 1 - i : i;
        memory.Add(static_cast<uint32_t>(at));
      }
    }
    peaks[computation->serial()] = memory.peak_bytes();
    result.peak_bytes = std::max(result.peak_bytes, memory.peak_bytes());
    resources.SetOrder(*computation, sequence);
    result.changed |= SetOrder(*computation, std::move(sequence), context);
  }
  return result;
}

absl::StatusOr<bool> LatencyHidingScheduler::RunByUnits(Module& module,
                                                        PassContext& context) const {
  Options options = options_;
  bool regrouped = false;
  for (const Computation* computation : module.computations()) {
    if (!options.top_down_scheduling) break;
    ASSIGN_OR_RETURN(const bool moved, MoveGroupsToStarts(*computation));
    regrouped |= moved;
  }
  ASSIGN_OR_RETURN(ByUnits result, ScheduleByUnits(module, context, options));
  bool changed = result.changed || regrouped;
  for (int64_t run = 0; run < options_.rerun && result.has_work; ++run) {
    if (options_.memory_limit_bytes == 0 || result.peak_bytes <= options_.memory_limit_bytes) break;
    // 0 would be no limit.
    const int64_t limit = std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<double>(options.memory_limit_bytes) * 0.9));
    if (limit == options.memory_limit_bytes) break;  // the same order again
    options.memory_limit_bytes.value = limit;
    ASSIGN_OR_RETURN(result, ScheduleByUnits(module, context, options));
    changed |= result.changed;
  }
  return changed;
}

absl::StatusOr<bool> LatencyHidingScheduler::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  bool changed = !module.is_scheduled();
  ASSIGN_OR_RETURN(const bool reordered, options_.platform == "" ? RunByUnits(module, context)
                                                                 : RunByTimes(module, context));
  changed |= reordered;
  module.set_scheduled(true);
  return changed;
}

HLO_DEFINE_PASS(LatencyHidingScheduler)

}  // namespace hlo
