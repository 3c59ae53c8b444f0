#include "passes/cpu/fusible.h"

#include "lib/ir/computation.h"

namespace hlo::cpu {
namespace {

bool IsOneByteOrMore(ElementType type) { return IsArrayType(type); }

// A region of scalar elementwise instructions (the to_apply of reduce).
Decision IsScalarRegion(const Computation& region) {
  for (const Instruction* instruction : region.instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kTuple: continue;
      default:
        if (!IsElementwise(instruction->opcode()) || !instruction->shape().IsScalar()) {
          return No("`{}` in `{}` is not a scalar elementwise operation",
                    instruction->opcode_text(), region.name());
        }
    }
  }
  return Yes();
}

}  // namespace

Decision IsFusible(const Instruction& instruction) {
  const Shape shape = instruction.shape();
  if (shape.has_dynamic_dims()) return No("dynamic dimensions");
  if (instruction.opcode() == Opcode::kReduce) {
    for (const Instruction* operand : instruction.operands()) {
      if (!operand->shape().IsArray() || operand->shape().has_dynamic_dims())
        return No("operand is no static array");
    }
    return IsScalarRegion(*instruction.to_apply());
  }
  if (!shape.IsArray() || !IsOneByteOrMore(shape.element_type())) return No("result is no array");
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() || operand->shape().has_dynamic_dims())
      return No("operand is no static array");
  }
  if (IsElementwise(instruction.opcode())) return Yes();
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kIota:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather: return Yes();
    case Opcode::kConstant:
      return shape.element_count() == 1 && !instruction.literal().is_elided()
                 ? Yes()
                 : No("a constant array is a buffer");
    default: return No("`{}` has no kernel family", instruction.opcode_text());
  }
}

bool IsCheapToRepeat(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kIota:
    case Opcode::kReshape:
    case Opcode::kSlice: return true;
    case Opcode::kConstant: return instruction.shape().element_count() == 1;
    default: return false;
  }
}

bool IsExpensive(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kSelect:
    case Opcode::kCompare:
    case Opcode::kClamp:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kComplex:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestEven:
    case Opcode::kSign:
    case Opcode::kIsFinite:
    case Opcode::kBitcastConvert: return IsComplex(instruction.shape().element_type());
    default: return IsElementwise(instruction.opcode());
  }
}

}  // namespace hlo::cpu
