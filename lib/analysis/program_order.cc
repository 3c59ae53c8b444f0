#include "lib/analysis/program_order.h"

#include "lib/analysis/call_graph.h"

namespace hlo {
namespace {

using Kind = ProgramStep::Kind;

class Walker {
 public:
  explicit Walker(const Module& module) : walked_(module.serial_limit(), false) {
    size_t instructions = 0;
    for (const Computation* computation : module.computations())
      instructions += static_cast<size_t>(computation->instruction_count());
    steps_.reserve(instructions);
    Enter(*module.entry());
    while (!stack_.empty()) Step();
  }
  std::vector<ProgramStep> steps() && { return std::move(steps_); }

 private:
  // A computation that is being walked, and the call that its next instruction is in.
  struct Frame {
    std::vector<Instruction*> order;
    size_t next = 0;
    int call = -1;  // of order[next]; -1: not begun
  };

  void Enter(const Computation& computation) {
    walked_[computation.serial()] = true;
    stack_.push_back({computation.SequenceOrPostOrder()});
  }

  void Step() {
    Frame& frame = stack_.back();
    if (frame.next == frame.order.size()) {
      stack_.pop_back();
      if (!stack_.empty()) Leave(stack_.back(), /*again=*/false);
      return;
    }
    const Instruction* instruction = frame.order[frame.next];
    const bool calls = instruction->call_count() > 0 &&
                       CallKindOf(instruction->opcode()) == CallKind::kControlFlow;
    if (!calls) {
      steps_.push_back({Kind::kVisit, instruction});
      ++frame.next;
      return;
    }
    if (frame.call < 0) {
      steps_.push_back({Kind::kBegin, instruction});
      frame.call = 0;
    }
    if (frame.call == instruction->call_count()) {
      steps_.push_back({Kind::kEnd, instruction});
      frame.call = -1;
      ++frame.next;
      return;
    }
    const Computation& callee = *instruction->call(frame.call);
    const bool again = walked_[callee.serial()];
    steps_.push_back({Kind::kEnter, instruction, frame.call, again});
    if (again) return Leave(frame, again);
    Enter(callee);  // `frame` is void from here
  }

  void Leave(Frame& frame, bool again) {
    steps_.push_back({Kind::kLeave, frame.order[frame.next], frame.call, again});
    ++frame.call;
  }

  std::vector<bool> walked_;  // by serial
  std::vector<Frame> stack_;
  std::vector<ProgramStep> steps_;
};

}  // namespace

std::vector<ProgramStep> ProgramOrder(const Module& module) { return Walker(module).steps(); }

}  // namespace hlo
