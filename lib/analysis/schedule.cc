#include "lib/analysis/schedule.h"

#include "lib/ir/dense_map.h"

namespace hlo {
namespace {

class Repair {
 public:
  explicit Repair(Computation& computation)
      : state_(computation.module().id_limit(), State::kNew), computation_(computation) {}

  void Run() {
    for (Instruction* instruction : computation_.schedule()) {
      if (!instruction->is_dead() && instruction->parent() == &computation_) Place(instruction);
    }
    for (Instruction* instruction : computation_.PostOrder()) Place(instruction);
    computation_.set_schedule(std::move(sequence_));
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kPlaced };

  // Appends what `instruction` needs, then itself.
  void Place(Instruction* instruction) {
    std::vector<Instruction*> stack = {instruction};
    while (!stack.empty()) {
      Instruction* top = stack.back();
      if (state_[top] != State::kNew) {
        stack.pop_back();
        if (state_[top] == State::kOpen) {
          state_[top] = State::kPlaced;
          sequence_.push_back(top);
        }
        continue;
      }
      state_[top] = State::kOpen;
      for (int i = top->operand_count(); i-- > 0;) {
        if (state_[top->operand(i)] == State::kNew) stack.push_back(top->operand(i));
      }
      for (Instruction* predecessor : top->control_predecessors()) {
        if (state_[predecessor] == State::kNew) stack.push_back(predecessor);
      }
    }
  }

  InstructionMap<State> state_;
  Computation& computation_;
  std::vector<Instruction*> sequence_;
};

}  // namespace

void UpdateSchedules(Module& module) {
  if (!module.is_scheduled()) return;
  for (Computation* computation : module.computations()) {
    if (computation->has_schedule()) {
      Repair(*computation).Run();
    } else if (!computation->is_fusion()) {
      computation->set_schedule(computation->PostOrder());
    }
  }
}

}  // namespace hlo
