// Rules of single instructions, on top of the opcode table and the shape rules (lib/ops):
//
//   every opcode  has the attribute struct, the number of operands and the called computations of its table row
//   shapes        the declared shape is the inferred one; dynamic dimensions match static ones; floats of different width are
//                 tolerated with allow_mixed_precision, but for opcodes that pass values through unchanged
#include <algorithm>

#include "lib/ir/verify_internal.h"

namespace hlo::internal {
namespace {

// Opcodes whose result has exactly the inferred element types, and with layout_sensitive its layout.
constexpr Opcode kStrict[] = {
    Opcode::kBitcast, Opcode::kCall, Opcode::kConditional, Opcode::kConstant, Opcode::kCopyDone,
    Opcode::kCopyStart, Opcode::kCustomCall, Opcode::kGetTupleElement, Opcode::kInfeed,
    Opcode::kOptimizationBarrier, Opcode::kOutfeed, Opcode::kParameter, Opcode::kRecv,
    Opcode::kRecvDone, Opcode::kSend, Opcode::kSendDone, Opcode::kTuple, Opcode::kWhile,
};
bool IsStrict(Opcode opcode) { return std::find(std::begin(kStrict), std::end(kStrict), opcode) != std::end(kStrict); }

// "`f32[4]`, `f32[8]`"
std::string OperandShapes(const Instruction& instruction) {
  constexpr int kMost = 4;
  std::string text;
  for (int i = 0; i < std::min(instruction.operand_count(), kMost); ++i) {
    if (i > 0) text += ", ";
    text += fmt::format("`{}`", instruction.operand(i)->shape());
  }
  if (instruction.operand_count() > kMost) text += ", …";
  return text;
}

}  // namespace

void VerifyInstruction(const VerifyContext& context, const Instruction& instruction) {
  Findings& findings = context.findings;
  const Opcode opcode = instruction.opcode();
  const AttrsInfo& expected = Info(opcode).attrs();
  const AttrsInfo* found = instruction.attrs_ptr().info();
  if (found != &expected && !(found == nullptr && !Info(opcode).default_attrs())) {
    return findings.Add(instruction.loc(), "`{}` has attributes of type {}, expected {} for `{}`", instruction.name(),
                        found == nullptr ? "none" : found->name, expected.name, instruction.opcode_text());
  }
  absl::InlinedVector<Shape, 8> operands;
  for (const Instruction* operand : instruction.operands()) operands.push_back(operand->shape());
  absl::InlinedVector<Signature, 2> calls;
  for (int i = 0; i < instruction.call_count(); ++i) calls.push_back(instruction.call(i)->signature());
  const ShapeArgs args(opcode, operands, instruction.attrs_ptr(), calls, instruction.shape());
  const absl::StatusOr<Shape> inferred = InferShape(args);
  if (!inferred.ok()) {
    findings.AddStatus(instruction.loc(), inferred.status());
    return findings.NoteOperands(instruction);
  }
  Agreement agreement;
  if (IsStrict(opcode)) {
    agreement.layout = agreement.layout_details = context.options.layout_sensitive;
  } else {
    agreement.float_width = !context.options.allow_mixed_precision;
  }
  if (!Agree(instruction.shape(), *inferred, agreement)) {
    if (instruction.operand_count() == 0) {
      return findings.Add(instruction.loc(), "`{}` is declared `{}` but `{}` yields `{}`", instruction.name(),
                          instruction.shape(), instruction.opcode_text(), *inferred);
    }
    findings.Add(instruction.loc(), "`{}` is declared `{}` but `{}` of {} yields `{}`", instruction.name(),
                 instruction.shape(), instruction.opcode_text(), OperandShapes(instruction), *inferred);
    findings.NoteOperands(instruction);
  }
}

}  // namespace hlo::internal
