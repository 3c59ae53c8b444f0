// Deep copies of computations and modules.
#include "absl/container/flat_hash_map.h"
#include "lib/ir/call_order.h"
#include "lib/ir/module.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

using ComputationMap = absl::flat_hash_map<const Computation*, Computation*>;

// Copies the body of `from` into the empty `to` in stored order, names kept when `verbatim`.
// Callees are looked up in `callees`; those not there are shared. Operands may stand after their
// users in stored order (passes append), so edges are added when all nodes are there.
void CopyBody(const Computation& from, Computation* to, const ComputationMap& callees,
              bool verbatim) {
  Module& module = to->module();
  absl::flat_hash_map<const Instruction*, Instruction*> copies;  // not by id: bodies are small
  copies.reserve(static_cast<size_t>(from.instruction_count()));
  for (Instruction* instruction : from.instructions()) {
    std::vector<Computation*> calls = instruction->calls();
    for (Computation*& call : calls) {
      if (const auto it = callees.find(call); it != callees.end()) call = it->second;
    }
    Instruction* copy;
    if (verbatim) {
      copy = to->AddVerbatim(instruction->opcode(), instruction->shape(), {},
                             instruction->attrs_ptr(), calls, module.Intern(instruction->name()));
    } else {
      copy = to->Add(instruction->opcode(), instruction->shape(), {}, instruction->attrs_ptr(),
                     calls, instruction->name());
    }
    copy->set_loc(instruction->loc());
    if (const Extras* extras = instruction->extras()) {
      Extras& mine = copy->mutable_extras();
      mine = *extras;
      mine.control.reset();
    }
    copies[instruction] = copy;
  }
  for (Instruction* instruction : from.instructions()) {
    Instruction* copy = copies[instruction];
    for (Instruction* operand : instruction->operands()) copy->AppendOperand(copies[operand]);
    for (Instruction* predecessor : instruction->control_predecessors())
      copy->AddControlPredecessor(copies[predecessor]);
  }
  to->set_root(copies[from.root()]);
  to->set_loc(from.loc());
  to->set_execution_thread(from.execution_thread());
  if (from.has_schedule()) {
    std::vector<Instruction*> sequence;
    // A pass that is running may have removed some; its schedules are repaired when it ends.
    for (const Instruction* instruction : from.schedule()) {
      if (!instruction->is_dead()) sequence.push_back(copies[instruction]);
    }
    to->set_schedule(std::move(sequence));
  }
}

}  // namespace

Computation* Module::CloneComputation(const Computation& from, std::string_view suffix, bool deep) {
  ComputationMap copies;
  const bool foreign = &from.module() != this;
  if (deep || foreign) {
    for (const Computation* callee : CalleesOf(from)) {
      Computation* copy = AddComputation(std::string(callee->name()) + std::string(suffix));
      CopyBody(*callee, copy, copies, /*verbatim=*/false);
      copies[callee] = copy;
    }
  } else {
    for (const Instruction* instruction : from.instructions()) {
      if (!instruction->IsFusion()) continue;
      const Computation* body = instruction->fused_computation();
      copies[body] = CloneComputation(*body, suffix, deep);
    }
  }
  Computation* result = AddComputation(std::string(from.name()) + std::string(suffix));
  CopyBody(from, result, copies, /*verbatim=*/false);
  return result;
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>(name_);
  clone->config_ = config_;
  clone->source_ = source_;
  clone->scheduled_ = scheduled_;
  ComputationMap copies;
  // Callees before callers, then the creation order of the original.
  for (const Computation* computation : CalleesFirst(PostOrder())) {
    Computation* copy = clone->AddComputationVerbatim(clone->Intern(computation->name()));
    CopyBody(*computation, copy, copies, /*verbatim=*/true);
    copies[computation] = copy;
  }
  clone->order_.clear();
  for (const Computation* computation : order_) {
    HLO_CHECK(copies.contains(computation));
    clone->order_.push_back(copies[computation]);
  }
  clone->entry_ = copies[entry_];
  clone->UniquifyNames();
  return clone;
}

}  // namespace hlo
