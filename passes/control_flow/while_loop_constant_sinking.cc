#include "passes/control_flow/while_loop_constant_sinking.h"

#include <array>

#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// The read of element `i` that the root of a body passes on, if something else needs it, too.
std::vector<Instruction*> ReadsOfBody(const Computation& body, int64_t i) {
  Instruction* const read = body.root()->operand(static_cast<int>(i));
  const bool is_needed =
      absl::c_any_of(read->uses(), [&](const Use& use) { return use.user != body.root(); });
  return is_needed ? std::vector<Instruction*>{read} : std::vector<Instruction*>();
}

// Those of a condition that something needs.
std::vector<Instruction*> ReadsOfCondition(const Computation& condition, int64_t i) {
  std::vector<Instruction*> reads;
  for (Instruction* read : condition.parameter(0)->users()) {
    if (read->opcode() == Opcode::kGetTupleElement && read->tuple_index() == i && read->has_uses())
      reads.push_back(read);
  }
  return reads;
}

// The condition and the body of a loop, copied before they change: the names say what became of
// them, and other loops may use the originals.
class OwnComputations {
 public:
  explicit OwnComputations(Instruction* loop) : loop_(loop) {}

  Computation* Get(int call) {
    if (Computation* const own = own_[static_cast<size_t>(call)]; own != nullptr) return own;
    Module& module = loop_->module();
    Computation* const clone = module.CloneComputation(*loop_->call(call), ".sunk", /*deep=*/false);
    module.MoveToFront(clone, loop_->parent());
    loop_->SetCall(call, clone);
    return own_[static_cast<size_t>(call)] = clone;
  }

 private:
  Instruction* loop_;
  std::array<Computation*, 2> own_ = {};
};

// A copy of the constant (or broadcast constant) `value` in `computation`.
Instruction* CopyInto(Computation& computation, const Instruction& value) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : value.operands())
    operands.push_back(CopyInto(computation, *operand));
  return computation.AddClone(value, value.shape(), operands);
}

// Lets all that reads `read` read a copy of `value`, but for `root` where it passes element `i` on.
void Substitute(Instruction* read, const Instruction& value, const Instruction* root, int64_t i) {
  Instruction* const copy = CopyInto(*read->parent(), value);
  const std::vector<Use> uses(read->uses().begin(), read->uses().end());
  for (const Use& use : uses) {
    if (use.user != root || use.operand_index != i)
      use.user->ReplaceOperand(use.operand_index, copy);
  }
}

}  // namespace

bool WhileLoopConstantSinking::MaySink(const Instruction& value) const {
  const Instruction* constant = &value;
  if (options_.sink_broadcast_of_constants && value.opcode() == Opcode::kBroadcast)
    constant = value.operand(0);
  if (!constant->IsConstant() || constant->literal().is_elided()) return false;
  return !options_.sink_only_scalar_constants || value.shape().IsScalar();
}

absl::StatusOr<bool> WhileLoopConstantSinking::Sink(Instruction* loop, PassContext& context) const {
  const Instruction& init = *loop->operand(0);
  if (init.opcode() != Opcode::kTuple || loop->while_body()->root()->opcode() != Opcode::kTuple)
    return false;
  OwnComputations own(loop);
  bool changed = false;
  for (int64_t i = 0; i < init.operand_count(); ++i) {
    const Instruction& value = *init.operand(static_cast<int>(i));
    const Instruction* root = loop->while_body()->root();
    if (!MaySink(value) || !IsParameterElement(*root->operand(static_cast<int>(i)), i)) continue;
    const bool in_body = !ReadsOfBody(*loop->while_body(), i).empty();
    const bool in_condition = !ReadsOfCondition(*loop->while_condition(), i).empty();
    if (!in_body && !in_condition) continue;
    if (!context.MayRewrite()) return changed;
    context.Passed(value, "loop `{}` computes it itself", loop->name());
    if (in_body) {
      Computation* const body = own.Get(1);
      for (Instruction* read : ReadsOfBody(*body, i)) Substitute(read, value, body->root(), i);
    }
    if (in_condition) {
      for (Instruction* read : ReadsOfCondition(*own.Get(0), i))
        Substitute(read, value, nullptr, i);
    }
    context.Count("sunk");
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> WhileLoopConstantSinking::Run(Module& module, PassContext& context) {
  // Outer loops first: what reaches the inside of a body may be a constant only then.
  std::vector<Computation*> computations = context.Computations(module, {Opcode::kWhile});
  absl::c_reverse(computations);
  bool changed = false;
  for (size_t i = 0; i < computations.size(); ++i) {
    if (computations[i]->callers().empty() && !computations[i]->is_entry()) continue;  // was copied
    for (Instruction* loop : computations[i]->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      const Computation* body = loop->while_body();
      ASSIGN_OR_RETURN(const bool sunk, Sink(loop, context));
      changed |= sunk;
      if (loop->while_body() != body) computations.push_back(loop->while_body());
    }
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(WhileLoopConstantSinking)

}  // namespace hlo
