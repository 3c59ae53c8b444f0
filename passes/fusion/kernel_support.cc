#include "passes/fusion/kernel_support.h"

#include <algorithm>

#include "lib/analysis/cost.h"
#include "lib/analysis/region.h"
#include "lib/eval/scalar_ops.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/contains.h"
#include "lib/types/memory_order.h"

namespace hlo {
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

// ---- what kernels hold besides elementwise instructions ----

bool IsAny(const Instruction&) { return true; }

// The starts of a dynamic slice or update are scalars (dynamic-index-splitter makes them so).
bool HasScalarStarts(const Instruction& instruction) {
  const int first = instruction.opcode() == Opcode::kDynamicSlice ? 1 : 2;
  return first >= instruction.operand_count() || instruction.operand(first)->shape().rank() == 0;
}

bool KeepsElements(const Instruction& bitcast) {
  const Shape from = bitcast.operand(0)->shape();
  return bitcast.shape().element_type() == from.element_type() &&
         KeepsRowMajorOrder(from, bitcast.shape());
}

bool HasScalarRegion(const Instruction& instruction) {
  return IsScalarRegion(*instruction.to_apply());
}

struct KernelOp {
  Opcode opcode;
  KernelPlace place;
  bool moves;  // gives elements of its operands, at other places
  bool (*is_supported)(const Instruction&);
};

constexpr KernelOp kKernelOps[] = {
    {Opcode::kBroadcast, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kReshape, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kBitcast, KernelPlace::kAnywhere, true, KeepsElements},
    {Opcode::kTranspose, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kSlice, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kPad, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kReverse, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kConcatenate, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kIota, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kConstant, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kGather, KernelPlace::kAnywhere, true, IsAny},
    {Opcode::kDynamicSlice, KernelPlace::kAnywhere, true, HasScalarStarts},
    // Inside a kernel it copies its whole operand.
    {Opcode::kDynamicUpdateSlice, KernelPlace::kAnywhere, true, HasScalarStarts},
    {Opcode::kReduce, KernelPlace::kAnywhere, false, HasScalarRegion},
    {Opcode::kScatter, KernelPlace::kRoot, false, HasScalarRegion},
    {Opcode::kMap, KernelPlace::kAlone, false, HasScalarRegion},
    {Opcode::kReduceWindow, KernelPlace::kAlone, false, HasScalarRegion},
};

const KernelOp* KernelOpOf(Opcode opcode) {
  const auto* const row =
      std::find_if(std::begin(kKernelOps), std::end(kKernelOps),
                   [opcode](const KernelOp& op) { return op.opcode == opcode; });
  return row == std::end(kKernelOps) ? nullptr : row;
}

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
  const KernelOp* const op = KernelOpOf(instruction.opcode());
  return op != nullptr && op->moves && op->is_supported(instruction);
}

KernelPlace KernelPlaceOf(Opcode opcode) {
  if (const KernelOp* const op = KernelOpOf(opcode)) return op->place;
  return IsElementwise(opcode) ? KernelPlace::kAnywhere : KernelPlace::kNone;
}

bool IsScalarRegion(const Computation& computation) {
  for (const Instruction* i : computation.instructions()) {
    if (i->opcode() == Opcode::kTuple && i->is_root()) continue;
    if (!i->shape().IsArray() || i->shape().rank() != 0) return false;
    const bool is_same = kScalarKeepers.Has(i->opcode()) && i->operand(0)->shape() == i->shape();
    const bool is_simple =
        i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kConstant || is_same;
    const bool is_call = kElementCallers.Has(i->opcode()) && IsScalarRegion(*i->call(0));
    if (!is_simple && !is_call && !IsFusibleElementwise(*i)) return false;
  }
  return true;
}

std::optional<CumulativeWindow> CumulativeWindowOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kReduceWindow) return std::nullopt;
  const std::optional<CumulativeWindow> window = CumulativeWindowOf(
      instruction.attrs<ReduceWindowAttrs>().window, instruction.operand(0)->shape().dims());
  // From the end elements join in another order.
  const bool keeps_order = window.has_value() && !window->from_end;
  return keeps_order || CombinerOpcode(*instruction.to_apply()) ? window : std::nullopt;
}

Decision IsKernelOp(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() || operand->shape().has_dynamic_dims())
      return No("operand `{}` is no static array", operand->name());
  }
  if (instruction.shape().has_dynamic_dims()) return No("the result has dynamic dimensions");
  if (IsFusibleElementwise(instruction) || IsFusibleMovement(instruction)) return Yes();
  const KernelOp* const op = KernelOpOf(instruction.opcode());
  if (op != nullptr && !op->moves && op->is_supported(instruction)) return Yes();
  return No("no kernel family takes `{}`", instruction.opcode_text());
}

Decision IsFusible(const Instruction& instruction) {
  const KernelPlace place = KernelPlaceOf(instruction.opcode());
  if (instruction.IsFusion() || place == KernelPlace::kRoot || place == KernelPlace::kAlone)
    return No("`{}` is a kernel of its own", instruction.opcode_text());
  if (instruction.opcode() == Opcode::kOptimizationBarrier)
    return No("an optimization barrier keeps its operands apart from its users");
  if (instruction.opcode() == Opcode::kConstant &&
      (instruction.shape().element_count() != 1 || instruction.literal().is_elided()))
    return No("a constant array is a buffer");
  return IsKernelOp(instruction);
}

bool MovesMinorDimension(const Instruction& transpose) {
  const DimVec& permutation = transpose.attrs<TransposeAttrs>().dimensions;
  const Shape operand = transpose.operand(0)->shape();
  int in = operand.rank() - 1;
  while (in >= 0 && operand.dim(in) == 1) --in;
  int out = transpose.shape().rank() - 1;
  while (out >= 0 && transpose.shape().dim(out) == 1) --out;
  return in >= 0 && permutation[static_cast<size_t>(out)] != in;
}

bool IsIndexVector(const Instruction& concatenate) {
  if (concatenate.opcode() != Opcode::kConcatenate || concatenate.is_root()) return false;
  const int64_t joined = concatenate.attrs<ConcatenateAttrs>().dimensions.value;
  const auto reads_indices = [&](const Use& use) {
    return use.user->opcode() == Opcode::kGather && use.operand_index == 1 &&
           use.user->attrs<GatherAttrs>().index_vector_dim == joined;
  };
  return absl::c_all_of(concatenate.uses(), reads_indices);
}

bool IsCheapToRepeat(const Instruction& instruction) {
  constexpr Opcode kCheap[] = {Opcode::kBroadcast, Opcode::kIota, Opcode::kReshape, Opcode::kSlice};
  return instruction.opcode() == Opcode::kConstant ? instruction.shape().element_count() == 1
                                                   : Contains(kCheap, instruction.opcode());
}

bool IsExpensive(const Instruction& instruction) {
  if (CostClassOf(instruction.opcode()) == CostClass::kSimple)
    return IsComplex(instruction.shape().element_type());
  return IsElementwise(instruction.opcode());
}

}  // namespace hlo
