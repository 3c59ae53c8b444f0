#include "passes/control_flow/while_loop_fusible_sinking.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/contains.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace {

constexpr size_t kMostMoved = 100;

// Makes many elements of few.
bool Expands(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBroadcast || instruction.opcode() == Opcode::kIota ||
         (instruction.IsConstant() && instruction.shape().IsScalar() &&
          !instruction.literal().is_elided());
}

bool PassesOn(const Instruction& instruction) {
  return (IsElementwise(instruction.opcode()) && instruction.operand_count() > 0 &&
          !instruction.HasSideEffect()) ||
         instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kTranspose;
}

bool IsLookedUp(const Instruction& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Use& use) {
    const Opcode opcode = use.user->opcode();
    return opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather || opcode == Opcode::kSlice;
  });
}

// What `value` is made of, operands first; nothing if that is no broadcast or iota in the end.
std::vector<Instruction*> MadeOf(Instruction* value) {
  std::vector<Instruction*> order;
  absl::flat_hash_set<const Instruction*> done;
  std::vector<Instruction*> stack = {value};
  while (!stack.empty()) {
    Instruction* top = stack.back();
    if (done.contains(top)) {
      stack.pop_back();
      continue;
    }
    const bool expands = Expands(*top);
    if (top->has_control_edges() || (!expands && !PassesOn(*top)) || done.size() > kMostMoved)
      return {};
    const size_t before = stack.size();
    for (Instruction* operand : top->operands()) {
      if (!done.contains(operand) && (!expands || Expands(*operand))) stack.push_back(operand);
    }
    if (stack.size() > before) continue;
    stack.pop_back();
    done.insert(top);
    order.push_back(top);
  }
  return order;
}

class OneLoopSinking {
 public:
  OneLoopSinking(Instruction* loop, PassContext& context) : loop_(loop), context_(context) {}

  absl::StatusOr<bool> Run() {
    if (loop_->operand(0)->opcode() != Opcode::kTuple || !CanCarryMore(*loop_)) return false;
    Choose();
    if (chosen_.empty()) return false;
    std::vector<Instruction*> carried;
    for (const Chosen& chosen : chosen_)
      carried.insert(carried.end(), chosen.carried.begin(), chosen.carried.end());
    std::vector<Instruction*> reads;
    if (!carried.empty()) {
      ASSIGN_OR_RETURN(reads, CarryMore(loop_, carried));
    }
    size_t next_read = 0;
    for (const Chosen& chosen : chosen_) {
      absl::flat_hash_map<const Instruction*, Instruction*> inside;
      for (const Instruction* operand : chosen.carried) inside[operand] = reads[next_read++];
      MakeInside(chosen, inside);
    }
    context_.Count("sunk", static_cast<int64_t>(chosen_.size()));
    return true;
  }

 private:
  // What the body reads, what that is made of, and what these read.
  struct Chosen {
    Instruction* read;
    std::vector<Instruction*> moved;
    std::vector<Instruction*> carried;
  };

  void Choose() {
    const Computation& body = *loop_->while_body();
    for (Instruction* read : body.parameter(0)->users()) {
      if (read->has_control_edges()) continue;
      const auto i = static_cast<int>(read->tuple_index());
      if (body.root()->operand(i) != read || read->has_one_user() || IsLookedUp(*read)) continue;
      Instruction* value = loop_->operand(0)->operand(i);
      Chosen chosen = {read, MadeOf(value), {}};
      if (chosen.moved.empty()) continue;
      if (!context_.MayRewrite()) return;
      context_.Passed(*value, "loop `{}` makes it itself", loop_->name());
      for (const Instruction* instruction : chosen.moved) {
        for (Instruction* operand : instruction->operands()) {
          if (!Contains(chosen.moved, operand) && !Contains(chosen.carried, operand))
            chosen.carried.push_back(operand);
        }
      }
      chosen_.push_back(std::move(chosen));
    }
  }

  // Copies what moves into the body, where `inside` holds what it reads.
  void MakeInside(const Chosen& chosen,
                  absl::flat_hash_map<const Instruction*, Instruction*>& inside) {
    for (const Instruction* instruction : chosen.moved) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands())
        operands.push_back(inside.at(operand));
      Instruction* copy =
          loop_->while_body()->AddClone(*instruction, instruction->shape(), operands);
      copy->set_loc(instruction->loc());
      inside[instruction] = copy;
    }
    chosen.read->ReplaceAllUsesWith(inside.at(chosen.moved.back()));
    ReadBesideLoop(chosen.read->tuple_index(), chosen.moved.back());
  }

  // After the loop, too, element `i` is `value`.
  void ReadBesideLoop(int64_t i, Instruction* value) const {
    for (Instruction* user : loop_->users()) {
      if (user->opcode() != Opcode::kGetTupleElement || user->tuple_index() != i) continue;
      user->ReplaceAllUsesWith(value);
      if (user->is_root()) user->parent()->set_root(value);
    }
  }

  Instruction* loop_;
  PassContext& context_;
  std::vector<Chosen> chosen_;
};

}  // namespace

absl::StatusOr<bool> WhileLoopFusibleSinking::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      ASSIGN_OR_RETURN(const bool sunk, OneLoopSinking(loop, context).Run());
      changed |= sunk;
    }
  }
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(WhileLoopFusibleSinking)

}  // namespace hlo
