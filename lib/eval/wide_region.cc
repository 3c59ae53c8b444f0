#include "lib/eval/wide_region.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/region.h"
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

using Instructions = std::vector<const Instruction*>;

// All of them are scalars of `type`, or questions about such.
bool ComputeIn(const Instructions& instructions, ElementType type) {
  for (const Instruction* i : instructions) {
    const Opcode opcode = i->opcode();
    const bool is_given = opcode == Opcode::kParameter || opcode == Opcode::kConstant;
    const bool is_operation = IsElementwise(opcode) && !kAboutTypes.Has(opcode);
    const bool is_question = is_operation && IsScalarOf(*i, ElementType::kPred);
    if (!is_question && !((is_given || is_operation) && IsScalarOf(*i, type))) return false;
  }
  return true;
}

bool AnyRounds(const Instructions& instructions) {
  return absl::c_any_of(instructions, [](const Instruction* i) {
    return IsFloat(i->shape().element_type()) && IsElementwise(i->opcode()) &&
           !kNeverRounded.Has(i->opcode());
  });
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
  const Instructions needed = NeededInstructions(region);
  const auto is_parameter = [](const Instruction* i) { return i->opcode() == Opcode::kParameter; };
  // One operation: accumulation.h has the word.
  return absl::c_count_if(needed, is_parameter) + 1 < static_cast<int64_t>(needed.size()) &&
         IsScalarOf(*region.root(), type) && ComputeIn(needed, type) && AnyRounds(needed);
}

Computation* AddWideRegion(Module& module, const Computation& region) {
  constexpr ElementType wide = ElementType::kF32;
  const ElementType narrow = region.root()->shape().element_type();
  Computation* copy = module.CloneComputation(region, ".wide", /*deep=*/false);
  const Instructions needed = NeededInstructions(*copy);
  const absl::flat_hash_set<const Instruction*> kept(needed.begin(), needed.end());
  auto order = copy->PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!kept.contains(*it) && (*it)->opcode() != Opcode::kParameter) copy->Remove(*it);
  }
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
