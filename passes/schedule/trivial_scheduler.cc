#include "passes/schedule/trivial_scheduler.h"

#include <algorithm>
#include <utility>

#include "lib/ir/dense_map.h"

namespace hlo {
namespace {

// Depth first: before each instruction its operands, then what control edges put before it.
class DepthFirst {
 public:
  explicit DepthFirst(const Module& module) : states_(module.id_limit(), State::kNew) {}

  void Visit(Instruction* end) {
    stack_.push_back(end);
    while (!stack_.empty()) {
      Instruction* const top = stack_.back();
      if (states_.Get(top) != State::kNew) {
        if (states_.Get(top) == State::kEntered) sequence_.push_back(top);
        states_[top] = State::kDone;
        stack_.pop_back();
        continue;
      }
      states_[top] = State::kEntered;
      const size_t first = stack_.size();
      for (Instruction* operand : top->operands()) Push(operand);
      for (Instruction* before : top->control_predecessors()) Push(before);
      std::reverse(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    }
  }

  // What has been visited since the last call.
  std::vector<Instruction*> Take() { return std::exchange(sequence_, {}); }

 private:
  enum class State : uint8_t { kNew, kEntered, kDone };
  void Push(Instruction* instruction) {
    if (states_.Get(instruction) == State::kNew) stack_.push_back(instruction);
  }

  InstructionMap<State> states_;
  std::vector<Instruction*> stack_, sequence_;
};

// What nobody needs first, the root last.
std::vector<Instruction*> VisitOrder(const Computation& computation, DepthFirst& order) {
  for (Instruction* instruction : computation.instructions()) {
    if (!instruction->is_root() && !instruction->has_uses() &&
        instruction->control_successors().empty())
      order.Visit(instruction);
  }
  order.Visit(computation.root());
  return order.Take();
}

}  // namespace

absl::StatusOr<bool> TrivialScheduler::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  bool changed = !module.is_scheduled();
  DepthFirst order(module);
  for (Computation* computation : context.NonFusionComputations(module)) {
    std::vector<Instruction*> sequence = VisitOrder(*computation, order);
    if (computation->has_schedule() && computation->schedule() == sequence) continue;
    computation->set_schedule(std::move(sequence));
    context.Count("scheduled computations");
    changed = true;
  }
  module.set_scheduled(true);
  return changed;
}

HLO_DEFINE_PASS(TrivialScheduler)

}  // namespace hlo
