#include "passes/precision/bfloat16_propagation.h"

#include "lib/analysis/region.h"
#include "lib/ops/opcode_groups.h"
#include "passes/precision/narrow_places.h"
#include "passes/rewrite.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"

namespace hlo {
namespace {

Shape NarrowedShape(Shape shape, const Instruction& instruction, int64_t& leaf,
                    NarrowPlaces& places, ElementType low) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
      const Shape element = NarrowedShape(shape.element(i), instruction, leaf, places, low);
      if (!(element == shape.element(i))) shape = shape.WithElement(i, element);
    }
    return shape;
  }
  return places.IsNarrow(instruction, leaf++) ? shape.WithElementType(low) : shape;
}

// Everything reads the value converted.
void ConvertAfter(Instruction* instruction, ElementType type, PassContext& context) {
  const std::vector<Use> uses(instruction->uses().begin(), instruction->uses().end());
  Rewriter builder(instruction->parent(), context, instruction);
  Instruction* convert = builder.Convert(instruction, type);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, convert);
  if (instruction->is_root()) instruction->parent()->set_root(convert);
}

// The comparison of a sort takes narrow elements and compares them as before.
void NarrowComparison(Instruction* sort, ElementType low, PassContext& context) {
  Module& module = sort->module();
  Computation* compare = module.CloneComputation(*sort->call(0), ".narrow", /*deep=*/false);
  module.MoveToFront(compare, sort->parent());
  for (Instruction* parameter : compare->parameters()) {
    const ElementType high = parameter->shape().element_type();
    parameter->set_shape(parameter->shape().WithElementType(low));
    ConvertAfter(parameter, high, context);
  }
  sort->SetCall(0, compare);
}

// Gives `instruction` the narrow shape and what belongs to it.
absl::Status Narrow(Instruction* instruction, Shape shape, ElementType low, PassContext& context) {
  instruction->set_shape(shape);
  if (instruction->IsConstant()) {
    if (instruction->literal().is_elided()) {
      instruction->SetAttrs(ConstantAttrs{Literal::Elided(shape)});
    } else {
      ASSIGN_OR_RETURN(Literal literal, instruction->literal().Converted(low));
      instruction->SetAttrs(ConstantAttrs{literal.WithShapeLayout(shape)});
    }
  } else if (instruction->opcode() == Opcode::kSort) {
    NarrowComparison(instruction, low, context);
  } else if (instruction->call_count() > 0 && !kBodyRunners.Has(instruction->opcode())) {
    // Bodies have been narrowed by themselves.
    instruction->SetCall(
        0, ScalarComputation(instruction->module(), *CombinerOpcode(*instruction->call(0)), low));
  }
  return absl::OkStatus();
}

// `value` with its arrays converted to those of `shape`.
Instruction* WithTypesOf(Shape shape, Instruction* value, Builder& builder) {
  if (Compatible(value->shape(), shape)) return value;
  if (!shape.IsTuple()) return builder.Convert(value, shape.element_type());
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    Instruction* element =
        value->opcode() == Opcode::kTuple ? value->operand(i) : builder.GetTupleElement(value, i);
    elements.push_back(WithTypesOf(shape.element(i), element, builder));
  }
  return builder.Tuple(elements);
}

// Conversions where types differ now: of operands, of what loops start with, at the end of fusions.
void ConvertBetween(Instruction* instruction, const std::vector<int>& operands, ElementType type,
                    PassContext& context) {
  Rewriter builder(instruction->parent(), context, instruction);
  for (const int i : operands)
    instruction->ReplaceOperand(i, builder.Convert(instruction->operand(i), type));
  if (instruction->opcode() == Opcode::kWhile) {
    Instruction* const init = instruction->operand(0);
    Instruction* const own = WithTypesOf(instruction->shape(), init, builder);
    if (own != init) instruction->ReplaceOperand(0, own);
  } else if (instruction->opcode() == Opcode::kFusion) {
    Computation* const fused = instruction->call(0);
    Instruction* const root = fused->root();
    if (Compatible(root->shape(), instruction->shape())) return;
    Rewriter inside(fused, context, root);
    fused->set_root(WithTypesOf(instruction->shape(), root, inside));
    fused->RemoveUnused(root);
  }
}

}  // namespace

absl::StatusOr<bool> Bfloat16Propagation::Run(Module& module, PassContext& context) {
  const FloatSupport support(options_);
  if (!context.MayRewrite()) return false;
  NarrowPlaces places(context.Computations(module), support, module);
  struct Conversions {
    Instruction* instruction;
    bool after = false;
    std::vector<int> operands;
  };
  std::vector<Conversions> conversions;
  for (Instruction* instruction : places.order()) {
    Conversions& needed =
        conversions.emplace_back(instruction, places.NeedsConversionAfter(*instruction));
    for (int i = 0; i < instruction->operand_count(); ++i)
      if (places.NeedsConversionOf(*instruction, i)) needed.operands.push_back(i);
  }
  bool changed = false;
  for (const Conversions& needed : conversions) {
    int64_t leaf = 0;
    Instruction* const instruction = needed.instruction;
    const Shape shape =
        NarrowedShape(instruction->shape(), *instruction, leaf, places, support.low());
    if (shape == instruction->shape()) continue;
    context.Passed(*instruction, "is only read rounded to {}", Text(support.low()));
    if (!needed.after) RETURN_IF_ERROR(Narrow(instruction, shape, support.low(), context));
    context.Count("narrowed");
    changed = true;
  }
  if (!changed) return false;
  for (const Conversions& needed : conversions) {
    if (needed.after) ConvertAfter(needed.instruction, support.low(), context);
    ConvertBetween(needed.instruction, needed.operands, support.low(), context);
  }
  for (Instruction* convert : places.order()) {
    if (convert->is_dead() || convert->opcode() != Opcode::kConvert ||
        convert->shape().element_type() != convert->operand(0)->shape().element_type())
      continue;
    ReplaceKeepingExtras(convert, convert->operand(0), module.id_limit());
  }
  RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
  RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return true;
}

HLO_DEFINE_PASS(Bfloat16Propagation)

}  // namespace hlo
