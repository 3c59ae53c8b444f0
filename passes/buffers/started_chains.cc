#include "passes/buffers/started_chains.h"

#include "lib/ir/builder.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

bool Begins(const Instruction& instruction, bool dense) {
  return (dense && kOperandsKeepingStarts.Has(instruction.opcode())) ||
         kSendRecvStarts.Has(instruction.opcode()) || IsCustomCall(instruction, "Pin") ||
         IsCustomCall(instruction, "CreateBuffer");
}

bool Ends(const Instruction& instruction) {
  return kSendRecvDones.Has(instruction.opcode()) || IsCustomCall(instruction, "Unpin") ||
         kOperandsKeepingDones.Has(instruction.opcode());
}

// Gives the buffer that it takes, updated.
bool Updates(const Instruction& instruction) {
  return instruction.shape().IsBuffer() && !Begins(instruction, /*dense=*/false) &&
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
  return tuple.is_root() && absl::c_any_of(callers, [](const CallSite& site) {
           return site.caller->opcode() == Opcode::kWhile && site.call_index == 1;
         });
}

bool BeginsLoop(const Instruction& tuple) {
  return absl::c_any_of(tuple.uses(),
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

bool CrossesLoop(const Use& border) {
  return border.user != nullptr && border.user->opcode() == Opcode::kTuple &&
         (IsRootOfLoopBody(*border.user) || BeginsLoop(*border.user));
}

absl::Status WriteOut(Instruction* start) {
  Builder b(start);
  const Shape shape = start->shape();
  Instruction* const target = b.OpWithShape(Opcode::kCopy, shape.element(0), {start->operand(0)});
  Instruction* const context = b.ScalarConstant(shape.element(2).element_type(), 0);
  Instruction* const pair =
      b.OpWithShape(Opcode::kTuple, shape, {target, start->operand(0), context});
  RETURN_IF_ERROR(b.status());
  start->parent()->Replace(start, pair);
  return absl::OkStatus();
}

}  // namespace

std::optional<StartedChain> ChainAcrossLoop(Instruction* begin, bool dense) {
  if (!Begins(*begin, dense)) return std::nullopt;
  const Use border = LeavesAt(*begin);
  if (!CrossesLoop(border)) return std::nullopt;
  if (!IsRootOfLoopBody(*border.user)) return StartedChain{begin};
  const Instruction& parameter = *border.user->parent()->parameter(0);
  return StartedChain{begin, EndOfElement(parameter, border.operand_index)};
}

absl::Status WriteOutCopiesAcrossLoops(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kCopyStart)) continue;
    for (Instruction* start : computation->PostOrder()) {
      if (start->opcode() != Opcode::kCopyStart || !CrossesLoop(LeavesAt(*start))) continue;
      RETURN_IF_ERROR(WriteOut(start));
      changed = true;
    }
  }
  if (!changed) return absl::OkStatus();
  for (Computation* computation : module.computations()) {
    for (Instruction* done : computation->PostOrder()) {
      if (done->opcode() != Opcode::kCopyDone || done->operand(0)->opcode() == Opcode::kCopyStart)
        continue;
      Builder b(computation, done);
      computation->Replace(done, b.GetTupleElement(done->operand(0), 0));
      RETURN_IF_ERROR(b.status());
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo
