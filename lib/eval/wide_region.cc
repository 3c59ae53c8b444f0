#include "lib/eval/wide_region.h"

#include "lib/ops/attrs.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

// Elementwise, and about the element type itself or about another one.
constexpr OpcodeSet kAboutTypes = {Opcode::kBitcastConvert, Opcode::kConvert,
                                   Opcode::kReducePrecision, Opcode::kStochasticConvert};
// Elementwise, and never rounded.
constexpr OpcodeSet kNeverRounded = {Opcode::kAbs,     Opcode::kClamp,   Opcode::kCopy,
                                     Opcode::kMaximum, Opcode::kMinimum, Opcode::kNegate,
                                     Opcode::kSelect,  Opcode::kSign};

bool IsScalarOf(const Instruction& instruction, ElementType type) {
  return instruction.shape().IsScalarOf(type);
}

// Everything in the region is a scalar of `type`, or a question about such.
bool ComputesIn(const Computation& region, ElementType type) {
  for (const Instruction* i : region.instructions()) {
    const Opcode opcode = i->opcode();
    const bool is_given = opcode == Opcode::kParameter || opcode == Opcode::kConstant;
    const bool is_operation = IsElementwise(opcode) && !kAboutTypes.Has(opcode);
    const bool is_question = is_operation && IsScalarOf(*i, ElementType::kPred);
    if (!is_question && !((is_given || is_operation) && IsScalarOf(*i, type))) return false;
  }
  return true;
}

bool Rounds(const Computation& region) {
  for (const Instruction* i : region.instructions()) {
    if (IsFloat(i->shape().element_type()) && IsElementwise(i->opcode()) &&
        !kNeverRounded.Has(i->opcode()))
      return true;
  }
  return false;
}

}  // namespace

bool HasWideRegion(const Instruction& reduce) {
  if (reduce.opcode() != Opcode::kReduce || reduce.operand_count() != 2 ||
      !reduce.shape().IsArray())
    return false;
  const ElementType type = reduce.shape().element_type();
  if (!IsFloat(type) || BitWidth(type) >= 32 || reduce.operand(0)->shape().element_type() != type ||
      reduce.operand(1)->shape().element_type() != type)
    return false;
  const Computation& region = *reduce.to_apply();
  // Two parameters and one operation: accumulation.h has the word.
  return region.instruction_count() > 3 && IsScalarOf(*region.root(), type) &&
         ComputesIn(region, type) && Rounds(region);
}

Computation* AddWideRegion(Module& module, const Computation& region) {
  constexpr ElementType wide = ElementType::kF32;
  const ElementType narrow = region.root()->shape().element_type();
  Computation* copy = module.CloneComputation(region, ".wide", /*deep=*/false);
  for (Instruction* instruction : copy->instructions()) {
    if (!IsScalarOf(*instruction, narrow)) continue;
    if (instruction->IsConstant())
      instruction->SetAttrs(
          ConstantAttrs{Literal::Scalar(wide, instruction->literal().GetDouble())});
    instruction->set_shape(instruction->shape().WithElementType(wide));
  }
  return copy;
}

}  // namespace hlo
