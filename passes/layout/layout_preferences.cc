#include "passes/layout/layout_preferences.h"

#include "lib/ops/attrs.h"

namespace hlo {
namespace {

using Strength = LayoutConstraints::Strength;

bool IsRowMajorKernel(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kDot) return true;
  if (instruction.opcode() == Opcode::kConvolution) {
    const ElementType type = instruction.shape().element_type();
    return type == ElementType::kF32 || type == ElementType::kF16;
  }
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attrs<CustomCallAttrs>().custom_call_target == "TopK";
}

// The dimension that must be major-most for the devices to exchange whole pieces; -1: any.
int64_t ExchangedDimension(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kAllGather)
    return instruction.attrs<AllGatherAttrs>().dimensions.value;
  if (instruction.opcode() == Opcode::kReduceScatter)
    return instruction.attrs<ReduceScatterAttrs>().dimensions.value;
  return -1;
}

Shape WithMajorMost(Shape array, int64_t dim) {
  DimOrder order;
  for (int64_t d = array.rank(); d-- > 0;) {
    if (d != dim) order.push_back(d);
  }
  order.push_back(dim);
  return InOrder(array, order);
}

}  // namespace

void AddCpuPreferences(const Computation& computation, LayoutConstraints& constraints) {
  for (const Instruction* instruction : computation.instructions()) {
    if (IsRowMajorKernel(*instruction))
      constraints.SetResult(*instruction, instruction->shape().WithDefaultLayout(),
                            Strength::kMandatory);
    if (instruction->opcode() == Opcode::kCopy) continue;  // takes whatever there is
    const int64_t exchanged = ExchangedDimension(*instruction);
    for (int i = 0; i < instruction->operand_count(); ++i) {
      const Shape operand = instruction->operand(i)->shape();
      if (!operand.IsArray() || constraints.HasOperand(*instruction, i) ||
          constraints.HandsOn(*instruction, i))
        continue;
      constraints.SetOperand(
          *instruction, i,
          exchanged < 0 ? operand.WithDefaultLayout() : WithMajorMost(operand, exchanged),
          Strength::kMandatory);
    }
  }
}

}  // namespace hlo
