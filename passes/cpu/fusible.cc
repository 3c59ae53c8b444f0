#include "passes/cpu/fusible.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "lib/eval/scalar_ops.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/types/memory_order.h"

namespace hlo::cpu {
namespace {

bool IsArithmetic(Opcode op, ElementType type, int arity) {
  if (IsPred(type))
    return (arity == 1 && op == Opcode::kNot) || (arity == 2 && scalar::IsPredBinary(op));
  if (IsInteger(type)) {
    if (op == Opcode::kAbs && IsUnsigned(type)) return false;
    return (arity == 1 && scalar::IsIntUnary(op)) || (arity == 2 && scalar::IsIntBinary(op));
  }
  if (IsFloat(type))
    return (arity == 1 && scalar::IsFloatUnary(op)) || (arity == 2 && scalar::IsFloatBinary(op));
  if (!IsComplex(type)) return false;
  if (op == Opcode::kAbs) return arity == 1;
  return (arity == 1 && scalar::IsComplexUnary(op)) || (arity == 2 && scalar::IsComplexBinary(op));
}

// The starts of a dynamic slice or update are one array (dynamic-index-splitter takes it apart).
bool HasStartVector(const Instruction& instruction) {
  const int first = instruction.opcode() == Opcode::kDynamicSlice         ? 1
                    : instruction.opcode() == Opcode::kDynamicUpdateSlice ? 2
                                                                          : 0;
  return first > 0 && first < instruction.operand_count() &&
         instruction.operand(first)->shape().rank() > 0;
}

bool IsArrayOf(const Instruction& instruction) { return instruction.shape().IsArray(); }

}  // namespace

bool IsFusibleElementwise(const Instruction& instruction) {
  if (!IsArrayOf(instruction) || instruction.shape().has_dynamic_dims()) return false;
  if (instruction.operand_count() == 0 || !instruction.operand(0)->shape().IsArray()) return false;
  const Opcode op = instruction.opcode();
  const ElementType type = instruction.operand(0)->shape().element_type();
  const ElementType result = instruction.shape().element_type();
  if (op == Opcode::kConvert) return true;
  // Operands of one type: mixed precision is left to the interpreter.
  for (int i = op == Opcode::kSelect ? 2 : 1; i < instruction.operand_count(); ++i) {
    const int before = op == Opcode::kSelect ? 1 : 0;
    if (instruction.operand(i)->shape().element_type() !=
        instruction.operand(before)->shape().element_type())
      return false;
  }
  if (op == Opcode::kSelect) return instruction.operand(1)->shape().element_type() == result;
  if (op == Opcode::kCopy) return type == result;
  if (op == Opcode::kOptimizationBarrier) return true;
  if (op == Opcode::kBitcastConvert)
    return BitWidth(type) == BitWidth(result) && IsComplex(type) == IsComplex(result) &&
           !IsPred(type) && !IsPred(result) && BitWidth(type) >= 8;
  if (op == Opcode::kCompare || op == Opcode::kReal || op == Opcode::kImag ||
      op == Opcode::kComplex)
    return true;
  if (op == Opcode::kIsFinite) return IsFloat(type);
  if (IsComplex(type) ? op != Opcode::kAbs && type != result : type != result) return false;
  if (op == Opcode::kClamp) return !IsComplex(type);
  if (op == Opcode::kReducePrecision) return IsFloat(type);
  return IsElementwise(op) && IsArithmetic(op, type, instruction.operand_count());
}

bool IsFusibleMovement(const Instruction& instruction) {
  if (!IsArrayOf(instruction) || instruction.shape().has_dynamic_dims()) return false;
  if (HasStartVector(instruction)) return false;
  constexpr Opcode kMovements[] = {
      Opcode::kBroadcast,    Opcode::kReshape, Opcode::kTranspose,   Opcode::kSlice,
      Opcode::kPad,          Opcode::kReverse, Opcode::kConcatenate, Opcode::kIota,
      Opcode::kDynamicSlice, Opcode::kGather,  Opcode::kConstant,    Opcode::kDynamicUpdateSlice};
  if (std::find(std::begin(kMovements), std::end(kMovements), instruction.opcode()) !=
      std::end(kMovements))
    return true;
  if (instruction.opcode() != Opcode::kBitcast) return false;
  const Shape from = instruction.operand(0)->shape();
  return instruction.shape().element_type() == from.element_type() &&
         KeepsRowMajorOrder(from, instruction.shape());
}

bool IsScalarRegion(const Computation& computation) {
  for (const Instruction* i : computation.instructions()) {
    if (i->opcode() == Opcode::kTuple && i->is_root()) continue;
    if (!i->shape().IsArray() || i->shape().rank() != 0) return false;
    const bool is_simple = i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kConstant ||
                           i->opcode() == Opcode::kReshape || i->opcode() == Opcode::kBroadcast ||
                           i->opcode() == Opcode::kTranspose;
    const bool is_call =
        (i->opcode() == Opcode::kCall || i->opcode() == Opcode::kMap || i->IsFusion()) &&
        IsScalarRegion(*i->call(0));
    if (!is_simple && !is_call && !IsFusibleElementwise(*i)) return false;
  }
  return true;
}

bool IsFusibleReduce(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReduce && IsScalarRegion(*instruction.to_apply());
}

bool IsRowReduce(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kReduce) return false;
  const DimVec& dims = instruction.attrs<ReduceAttrs>().dimensions;
  const int rank = instruction.operand(0)->shape().rank();
  // Every dimension from the first reduced one on is reduced, or has size 1.
  bool seen = false;
  for (int d = 0; d < rank; ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (seen && !reduced && instruction.operand(0)->shape().dim(d) != 1) return false;
    seen = seen || (reduced && instruction.operand(0)->shape().dim(d) != 1);
  }
  return true;
}

bool IsCostly(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  // Processors have roots as instructions.
  const bool is_root = opcode == Opcode::kSqrt || opcode == Opcode::kRsqrt;
  if ((HasTrait(opcode, kTranscendental) && !is_root) || opcode == Opcode::kRemainder) return true;
  // Integer division has no vector instruction.
  return opcode == Opcode::kDivide && IsInteger(instruction.shape().element_type());
}

std::optional<CumulativeWindow> CumulativeWindowOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kReduceWindow) return std::nullopt;
  const std::optional<CumulativeWindow> window = CumulativeWindowOf(
      instruction.attrs<ReduceWindowAttrs>().window, instruction.operand(0)->shape().dims());
  // From the end elements join in another order.
  const bool keeps_order = window.has_value() && !window->from_end;
  return keeps_order || CombinerOpcode(*instruction.to_apply()) ? window : std::nullopt;
}

bool IsFusibleScatter(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kScatter && IsScalarRegion(*instruction.to_apply());
}

Decision IsKernel(const Instruction& instruction) {
  if (instruction.IsFusion()) {
    for (const Instruction* i : instruction.fused_computation()->instructions()) {
      if (i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kTuple ||
          i->opcode() == Opcode::kGetTupleElement)
        continue;
      if (i->IsFusion()) return No("`{}` is a fusion inside a fusion", i->name());
      if (i->opcode() == Opcode::kScatter && !i->is_root())
        return No("scatter `{}` is not the root", i->name());
      if (Decision inner = IsKernel(*i); !inner) return inner;
    }
    return Yes();
  }
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() || operand->shape().has_dynamic_dims())
      return No("operand `{}` is no static array", operand->name());
  }
  if (instruction.shape().has_dynamic_dims()) return No("the result has dynamic dimensions");
  if (IsFusibleElementwise(instruction) || IsFusibleMovement(instruction) ||
      IsFusibleReduce(instruction) || IsFusibleScatter(instruction))
    return Yes();
  const bool has_region =
      instruction.opcode() == Opcode::kMap || instruction.opcode() == Opcode::kReduceWindow;
  if (has_region && IsScalarRegion(*instruction.to_apply())) return Yes();
  return No("no kernel family takes `{}`", instruction.opcode_text());
}

Decision IsFusible(const Instruction& instruction) {
  constexpr Opcode kAlone[] = {Opcode::kFusion, Opcode::kScatter, Opcode::kMap,
                               Opcode::kReduceWindow};
  if (std::find(std::begin(kAlone), std::end(kAlone), instruction.opcode()) != std::end(kAlone))
    return No("`{}` is a kernel of its own", instruction.opcode_text());
  if (instruction.opcode() == Opcode::kOptimizationBarrier)
    return No("an optimization barrier keeps its operands apart from its users");
  if (instruction.opcode() == Opcode::kConstant &&
      (instruction.shape().element_count() != 1 || instruction.literal().is_elided()))
    return No("a constant array is a buffer");
  return IsKernel(instruction);
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

absl::Status CheckElementTypes(const Instruction& instruction) {
  if (IsFusibleElementwise(instruction)) return absl::OkStatus();
  return Unsupported(instruction.loc(), "platform `cpu` cannot run `{}` of {} yet",
                     instruction.opcode_text(), instruction.operand(0)->shape());
}

}  // namespace hlo::cpu
