#include "passes/schedule/remat_edits.h"

namespace hlo::remat {

Item* Edits::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                 std::string_view name, AttrsPtr attrs) {
  added_.push_back(computation_.Add(opcode, shape, operands, std::move(attrs), {}, name));
  Item* const item = sequence_.Add(added_.back());
  item->is_new = true;
  return item;
}

Item* Edits::AddCopy(const Instruction& original, std::string_view name) {
  std::vector<Computation*> calls = original.calls();
  if (original.IsFusion() || original.opcode() == Opcode::kAsyncStart) {
    for (Computation*& callee : calls) {
      callee = computation_.module().CloneComputation(*callee, ".clone", /*deep=*/false);
      bodies_.push_back(callee);
    }
  }
  Instruction* const copy =
      computation_.Add(original.opcode(), original.shape(), original.operand_vector(),
                       original.attrs_ptr(), calls, name);
  added_.push_back(copy);
  copy->set_loc(original.loc());
  if (original.extras() != nullptr) {
    copy->mutable_extras() = *original.extras();
    copy->mutable_extras().control.reset();
  }
  for (Instruction* before : original.control_predecessors()) copy->AddControlPredecessor(before);
  for (Instruction* after : original.control_successors()) after->AddControlPredecessor(copy);
  Item* const item = sequence_.Add(copy);
  item->is_new = true;
  return item;
}

void Edits::Redirect(Instruction* user, int operand, Instruction* to) {
  redirected_.push_back({user, operand, user->operand(operand)});
  user->ReplaceOperand(operand, to);
}

void Edits::Remove(Item* item) {
  sequence_.Remove(item);
  removed_.push_back(item->instruction);
}

void Edits::Commit() {
  for (const Remark& remark : remarks_) {
    context_.Count(remark.count);
    context_.Passed(*remark.instruction, "{}", remark.text);
  }
  for (Instruction* instruction : removed_) {
    instruction->DropControlEdges();
    computation_.Remove(instruction);
  }
  computation_.set_schedule(sequence_.Instructions());
}

void Edits::Undo() {
  for (size_t i = redirected_.size(); i-- > 0;)
    redirected_[i].user->ReplaceOperand(redirected_[i].operand, redirected_[i].before);
  for (size_t i = added_.size(); i-- > 0;) computation_.Remove(added_[i]);
  // A copied body has copies of the fusions in it.
  for (size_t i = 0; i < bodies_.size(); ++i) {
    for (const Instruction* instruction : bodies_[i]->instructions()) {
      if (instruction->IsFusion()) bodies_.push_back(instruction->fused_computation());
    }
    computation_.module().RemoveComputation(bodies_[i]);
  }
}

}  // namespace hlo::remat
