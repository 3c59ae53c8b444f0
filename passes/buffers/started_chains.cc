#include "passes/buffers/started_chains.h"

#include <algorithm>

namespace hlo {
namespace {

bool IsTarget(const Instruction& instruction, std::string_view target) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attrs<CustomCallAttrs>().custom_call_target == target;
}

bool Begins(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kRecv ||
         IsTarget(instruction, "Pin") || IsTarget(instruction, "CreateBuffer");
}

bool Ends(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSendDone || instruction.opcode() == Opcode::kRecvDone ||
         IsTarget(instruction, "Unpin");
}

// Gives the buffer that it takes, updated.
bool Updates(const Instruction& instruction) {
  return instruction.shape().IsBuffer() && !Begins(instruction) &&
         (instruction.opcode() == Opcode::kCustomCall ||
          instruction.opcode() == Opcode::kDynamicUpdateSlice);
}

// The place where what `value` holds leaves the chain of single users: an end, or a tuple. Null:
// somewhere else.
Use LeavesAt(const Instruction& value) {
  const Instruction* last = &value;
  while (last->use_count() == 1) {
    const Use use = last->uses()[0];
    if (Ends(*use.user) || use.user->opcode() == Opcode::kTuple) return use;
    if (!Updates(*use.user)) break;
    last = use.user;
  }
  return {};
}

bool IsRootOfLoopBody(const Instruction& tuple) {
  const auto callers = tuple.parent()->callers();
  return tuple.is_root() && std::any_of(callers.begin(), callers.end(), [](const CallSite& site) {
           return site.caller->opcode() == Opcode::kWhile && site.call_index == 1;
         });
}

bool BeginsLoop(const Instruction& tuple) {
  return std::any_of(tuple.uses().begin(), tuple.uses().end(),
                     [](const Use& use) { return use.user->opcode() == Opcode::kWhile; });
}

// What ends the chain that the parameter holds as element `index`; null if nothing does.
Instruction* EndOfElement(const Instruction& parameter, int64_t index) {
  for (const Use& use : parameter.uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement || use.user->tuple_index() != index)
      continue;
    const Use end = LeavesAt(*use.user);
    if (end.user != nullptr && Ends(*end.user)) return end.user;
  }
  return nullptr;
}

}  // namespace

std::optional<StartedChain> ChainAcrossLoop(Instruction* begin) {
  if (!Begins(*begin)) return std::nullopt;
  const Use border = LeavesAt(*begin);
  if (border.user == nullptr || border.user->opcode() != Opcode::kTuple) return std::nullopt;
  if (IsRootOfLoopBody(*border.user)) {
    const Instruction& parameter = *border.user->parent()->parameter(0);
    return StartedChain{begin, EndOfElement(parameter, border.operand_index)};
  }
  if (!BeginsLoop(*border.user)) return std::nullopt;
  return StartedChain{begin};
}

}  // namespace hlo
