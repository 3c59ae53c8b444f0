#include "backends/cpu/families/fusible.h"

#include <algorithm>

#include "lib/eval/scalar_ops.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"

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
  constexpr Opcode kMovements[] = {
      Opcode::kBroadcast,    Opcode::kReshape, Opcode::kTranspose,   Opcode::kSlice,
      Opcode::kPad,          Opcode::kReverse, Opcode::kConcatenate, Opcode::kIota,
      Opcode::kDynamicSlice, Opcode::kGather,  Opcode::kConstant,    Opcode::kDynamicUpdateSlice};
  if (std::find(std::begin(kMovements), std::end(kMovements), instruction.opcode()) !=
      std::end(kMovements))
    return true;
  if (instruction.opcode() != Opcode::kBitcast) return false;
  return instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
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
  constexpr Opcode kExpensive[] = {
      Opcode::kExp,      Opcode::kExpm1, Opcode::kLog,   Opcode::kLog1p, Opcode::kLogistic,
      Opcode::kSin,      Opcode::kCos,   Opcode::kTan,   Opcode::kTanh,  Opcode::kErf,
      Opcode::kPower,    Opcode::kAtan2, Opcode::kCbrt,  Opcode::kAcos,  Opcode::kAcosh,
      Opcode::kAsin,     Opcode::kAsinh, Opcode::kAtanh, Opcode::kSinh,  Opcode::kCosh,
      Opcode::kRemainder};
  if (std::find(std::begin(kExpensive), std::end(kExpensive), instruction.opcode()) !=
      std::end(kExpensive))
    return true;
  // Integer division has no vector instruction.
  return instruction.opcode() == Opcode::kDivide && IsInteger(instruction.shape().element_type());
}

bool IsFusibleScatter(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kScatter && IsScalarRegion(*instruction.to_apply());
}

Decision CanEmit(const Instruction& instruction) {
  if (instruction.IsFusion()) {
    for (const Instruction* i : instruction.fused_computation()->instructions()) {
      if (i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kTuple ||
          i->opcode() == Opcode::kGetTupleElement)
        continue;
      if (i->IsFusion()) return No("`{}` is a fusion inside a fusion", i->name());
      if (i->opcode() == Opcode::kScatter && !i->is_root())
        return No("scatter `{}` is not the root", i->name());
      if (Decision inner = CanEmit(*i); !inner) return inner;
    }
    return Yes();
  }
  if (IsFusibleElementwise(instruction) || IsFusibleMovement(instruction) ||
      IsFusibleReduce(instruction))
    return Yes();
  if (IsFusibleScatter(instruction)) return Yes();
  if (instruction.opcode() == Opcode::kMap && IsScalarRegion(*instruction.to_apply())) return Yes();
  if (instruction.opcode() == Opcode::kReduceWindow && IsScalarRegion(*instruction.to_apply()))
    return Yes();
  return No("no kernel family takes `{}`", instruction.opcode_text());
}

absl::Status CheckElementTypes(const Instruction& instruction) {
  if (IsFusibleElementwise(instruction)) return absl::OkStatus();
  return Unsupported(instruction.loc(), "platform `cpu` cannot run `{}` of {} yet",
                     instruction.opcode_text(), instruction.operand(0)->shape());
}

}  // namespace hlo::cpu
