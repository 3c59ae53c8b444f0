#include "passes/schedule/instruction_hoister.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ops/opcode_set.h"
#include "passes/util/composite.h"

namespace hlo {
namespace {

using InstructionOrder = std::vector<Instruction*>;

// What takes no time: parameters may stand among it.
constexpr OpcodeSet kFree = {Opcode::kGetTupleElement, Opcode::kTuple, Opcode::kConstant,
                             Opcode::kBitcast, Opcode::kParameter};

// Whether an operation stands before some parameter.
bool ParametersAreLate(const Computation& computation) {
  int found = 0;
  for (const Instruction* instruction : computation.schedule()) {
    if (found == computation.parameter_count()) return false;
    if (!kFree.Has(instruction->opcode())) return true;
    if (instruction->opcode() == Opcode::kParameter) ++found;
  }
  return false;
}

void HoistParameters(Computation& computation, InstructionOrder& sequence) {
  if (!ParametersAreLate(computation)) return;
  InstructionOrder hoisted(computation.parameters().begin(), computation.parameters().end());
  for (Instruction* parameter : hoisted) parameter->DropControlEdges();
  for (Instruction* instruction : sequence) {
    if (instruction->opcode() != Opcode::kParameter) hoisted.push_back(instruction);
  }
  sequence = std::move(hoisted);
}

void HoistConstants(InstructionOrder& sequence) {
  const bool tied = absl::c_any_of(
      sequence, [](const Instruction* i) { return i->IsConstant() && i->has_control_edges(); });
  if (tied) return;
  std::stable_partition(sequence.begin(), sequence.end(),
                        [](const Instruction* i) { return i->IsConstant(); });
}

// Instructions of these opcodes directly follow what they read, those of one value in their order.
void HoistToOperands(const OpcodeSet& opcodes, InstructionOrder& sequence) {
  absl::flat_hash_map<const Instruction*, InstructionOrder> readers;
  InstructionOrder others;
  for (Instruction* instruction : sequence) {
    const bool moves =
        opcodes.Has(instruction->opcode()) && instruction->control_predecessors().empty();
    (moves ? readers[instruction->operand(0)] : others).push_back(instruction);
  }
  InstructionOrder hoisted;
  InstructionOrder stack;
  for (Instruction* instruction : others) {
    stack.push_back(instruction);
    while (!stack.empty()) {
      Instruction* const next = stack.back();
      stack.pop_back();
      hoisted.push_back(next);
      const auto of_next = readers.find(next);
      if (of_next != readers.end())
        stack.insert(stack.end(), of_next->second.rbegin(), of_next->second.rend());
    }
  }
  sequence = std::move(hoisted);
}

}  // namespace

absl::StatusOr<bool> InstructionHoister::Run(Module& module, PassContext& context) {
  if (!module.is_scheduled()) {
    context.Missed(*module.entry()->root(),
                   "the module has no schedule; `hlo-trivial-scheduler` makes one");
    return false;
  }
  OpcodeSet followers;
  if (options_.hoist_bitcasts) followers.Insert(Opcode::kBitcast);
  if (options_.hoist_gtes) followers.Insert(Opcode::kGetTupleElement);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (!computation->has_schedule() || IsCompositeBody(*computation)) continue;
    if (!context.MayRewrite()) continue;
    InstructionOrder sequence = computation->schedule();
    if (options_.hoist_parameters) HoistParameters(*computation, sequence);
    if (options_.hoist_constants) HoistConstants(sequence);
    HoistToOperands(followers, sequence);
    if (sequence == computation->schedule()) continue;
    context.Passed(*computation->root(), "the schedule of `{}` begins with what it is given",
                   computation->name());
    context.Count("schedules");
    computation->set_schedule(std::move(sequence));
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(InstructionHoister)

}  // namespace hlo
