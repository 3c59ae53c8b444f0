#include "passes/schedule/memory_scheduler.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/alias.h"
#include "lib/support/check.h"
#include "passes/schedule/memory_orders.h"

namespace hlo {
namespace {

MemoryOrder GivenOrder(const MemoryValues& of) { return of.order; }

struct Algorithm {
  std::string_view name;
  MemoryOrder (*make)(const MemoryValues& of);
};
// Of equal peaks the first one's.
constexpr Algorithm kAlgorithms[] = {{"list", ListOrder},
                                     {"dfs", DepthFirstOrder},
                                     {"postorder", GivenOrder},
                                     {"bfs", BreadthFirstOrder}};

// By value: no other one has to lie where it lies. What updates a part of it has to.
std::vector<bool> FindAlone(const Module& module, const Values& values, const AliasSets& sets) {
  std::vector<int> members(static_cast<size_t>(values.count()), 0);
  for (ValueId id = 0; id < values.count(); ++id) ++members[static_cast<size_t>(sets.SetOf(id))];
  std::vector<bool> is_alone;
  for (ValueId id = 0; id < values.count(); ++id)
    is_alone.push_back(members[static_cast<size_t>(sets.SetOf(id))] == 1);
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!values.Has(*instruction) || HasTrait(instruction->opcode(), kElementwise)) continue;
      for (const InPlacePair& pair : InPlacePairs(*instruction)) {
        const ValueId from =
            values.Of(*instruction->operand(pair.operand))[static_cast<size_t>(pair.operand_leaf)];
        const ValueId to = values.Of(*instruction)[static_cast<size_t>(pair.leaf)];
        is_alone[static_cast<size_t>(from)] = is_alone[static_cast<size_t>(to)] = false;
      }
    }
  }
  return is_alone;
}

}  // namespace

absl::StatusOr<bool> MemoryScheduler::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  way_ = 0;
  numbers_ = InstructionMap<uint32_t>(module.id_limit());
  for (const Computation* computation : module.computations()) {
    uint32_t number = 0;
    for (const Instruction* instruction : computation->instructions())
      numbers_[instruction] = number++;
  }
  values_ = &context.analyses().Get<Values>(module);
  is_alone_ = FindAlone(module, *values_, context.analyses().Get<AliasSets>(module));
  numbers_of_values_.assign(static_cast<size_t>(values_->count()), MemoryValues::kUnknown);
  const bool was_scheduled = module.is_scheduled();
  TakeOrders(module);
  ASSIGN_OR_RETURN(const bool changed, PlannedPass::Run(module, context));
  module.set_scheduled(true);
  return changed || !was_scheduled;
}

// The values were found along the post-order of each computation, where there is no schedule yet.
void MemoryScheduler::TakeOrders(const Module& module) {
  orders_.assign(module.serial_limit(), {});
  if (module.is_scheduled()) return;
  for (const ProgramStep& step : values_->order()) {
    if (step.kind == ProgramStep::Kind::kVisit || step.kind == ProgramStep::Kind::kBegin)
      orders_[step.instruction->parent()->serial()].push_back(numbers_.Get(step.instruction));
  }
}

absl::StatusOr<MemorySchedule> MemoryScheduler::Plan(const Computation& computation,
                                                     const Plans& callees) const {
  MemoryOrder order = std::move(orders_[computation.serial()]);
  if (order.empty()) {
    for (const Instruction* instruction : computation.PostOrder())
      order.push_back(numbers_.Get(instruction));
  }
  const MemoryFacts facts = {*values_, is_alone_, numbers_};
  const MemoryValues own(computation, std::move(order), facts, numbers_of_values_);
  MemorySchedule plan;
  for (const auto& [name, make] : kAlgorithms) {
    if (options_.algorithm == "default" ? name == "bfs" : options_.algorithm != name) continue;
    const MemoryOrder sequence = make(own);
    RET_CHECK(static_cast<int>(sequence.size()) == computation.instruction_count(),
              "the schedule of `{}` is incomplete", computation.name());
    const size_t way = plan.size();
    const int64_t peak = own.Peak(sequence, [&](const Computation& callee) {
      const MemorySchedule* other = callees.Of(callee);
      return other == nullptr ? 0 : (*other)[way].peak_bytes;
    });
    std::vector<Instruction*> instructions;
    for (const MemoryValues::Number i : sequence) instructions.push_back(own.instructions[i]);
    plan.push_back({std::move(instructions), peak});
  }
  // One algorithm for all computations: what the entry needs says which.
  if (computation.is_entry()) {
    const auto best = absl::c_min_element(
        plan, [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
    way_ = static_cast<size_t>(best - plan.begin());
  }
  return plan;
}

absl::StatusOr<bool> MemoryScheduler::Apply(Computation& computation, MemorySchedule plan,
                                            PassContext& context) {
  ScheduledOrder& order = plan[way_];
  context.Found(*computation.root(), "`{}` needs {} bytes at its peak", computation.name(),
                order.peak_bytes);
  if (computation.has_schedule() && computation.schedule() == order.sequence) return false;
  computation.set_schedule(std::move(order.sequence));
  context.Count("scheduled computations");
  return true;
}

HLO_DEFINE_PASS(MemoryScheduler)

}  // namespace hlo
