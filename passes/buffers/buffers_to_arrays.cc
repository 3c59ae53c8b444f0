#include "passes/buffers/buffers_to_arrays.h"

#include "lib/ir/any_instruction.h"
#include "lib/ir/builder.h"
#include "lib/ir/control_edges.h"
#include "lib/types/shape_limits.h"

namespace hlo {

Shape WithoutBuffers(Shape shape) {
  if (!HasBuffer(shape)) return shape;
  if (shape.IsBuffer()) return shape.element(0);
  std::vector<Shape> elements;
  for (const Shape element : shape.elements()) elements.push_back(WithoutBuffers(element));
  return Shape::Tuple(elements);
}

namespace {

// Nobody says how much of a new buffer of dynamic size is there: all that it may hold.
Instruction* WithDynamicDims(Instruction* x, Shape shape, Builder& builder) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (!shape.is_dynamic(d)) continue;
    Instruction* const bound = builder.ScalarConstant(ElementType::kS32, shape.dim(d));
    x = builder.OpWithShape(Opcode::kSetDimensionSize, x->shape().WithDynamic(d, true), {x, bound},
                            AttrsPtr::Make(DimensionAttrs{BracedDim{.value = d}}));
  }
  return x;
}

// What stands for the call when its buffers are arrays; null: itself.
Instruction* ArrayOf(Instruction& call) {
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  if (target == "Pin" || target == "Unpin") return call.operand(0);
  if (target != "CreateBuffer") return nullptr;
  Builder builder(&call);
  const Shape shape = WithoutBuffers(call.shape());
  Instruction* zero = builder.Constant(Literal::Zero(shape.element_type()));
  return shape.rank() == 0
             ? zero
             : WithDynamicDims(builder.Broadcast(zero, shape.dims(), {}), shape, builder);
}

}  // namespace

absl::StatusOr<bool> BuffersToArrays::Run(Module& module, PassContext& context) {
  std::vector<Instruction*> found;
  for (Instruction* instruction : AllInstructions(module)) {
    const bool unpins = instruction->opcode() == Opcode::kCustomCall &&
                        instruction->operand_count() == 1 &&
                        HasBuffer(instruction->operand(0)->shape());
    if (unpins || HasBuffer(instruction->shape())) found.push_back(instruction);
  }
  // A buffer here and an array there would not fit: all of them or none.
  if (found.empty() || !context.MayRewrite()) return false;
  for (Instruction* instruction : found) {
    context.Passed(*instruction, "holds arrays");
    Instruction* array =
        instruction->opcode() == Opcode::kCustomCall ? ArrayOf(*instruction) : nullptr;
    instruction->set_shape(WithoutBuffers(instruction->shape()));
    if (array != nullptr) {
      // (A new buffer stands where the call was; what a pin reads was there before.)
      if (instruction->operand_count() > 0) HandOverControlEdges(instruction, array);
      instruction->parent()->Replace(instruction, array);
    }
    context.Count("instructions");
  }
  Shape& result = module.config().entry_layout.result;
  result = WithoutBuffers(result);
  return true;
}

HLO_DEFINE_PASS(BuffersToArrays)

}  // namespace hlo
