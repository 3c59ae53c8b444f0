#include "passes/precision/element_type_converter.h"

#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_groups.h"
#include "passes/precision/holds_type.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What carries values, means their bits, or is the business of what it calls.
constexpr OpcodeSet kLeftAlone = {Opcode::kParameter,
                                  Opcode::kConstant,
                                  Opcode::kTuple,
                                  Opcode::kConvert,
                                  Opcode::kBitcast,
                                  Opcode::kInfeed,
                                  Opcode::kBitcastConvert,
                                  Opcode::kGetTupleElement,
                                  Opcode::kOutfeed,
                                  Opcode::kCustomCall,
                                  Opcode::kDomain,
                                  Opcode::kWhile,
                                  Opcode::kCall,
                                  Opcode::kConditional,
                                  Opcode::kFusion,
                                  Opcode::kMap,
                                  Opcode::kReduce,
                                  Opcode::kScatter,
                                  Opcode::kReduceWindow,
                                  Opcode::kSelectAndScatter,
                                  Opcode::kSort,
                                  Opcode::kAllReduce,
                                  Opcode::kReduceScatter,
                                  Opcode::kAsyncUpdate,
                                  Opcode::kAllReduceStart,
                                  Opcode::kScaledDot,
                                  Opcode::kStochasticConvert};

bool IsLeftAlone(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return kLeftAlone.Has(opcode) || HasTrait(opcode, kAsyncStart) || HasTrait(opcode, kAsyncDone) ||
         instruction.call_count() > 0;
}

Shape WithType(Shape shape, ElementType from, ElementType to) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      shape = shape.WithElement(i, WithType(shape.element(i), from, to));
    return shape;
  }
  return shape.element_type() == from ? shape.WithElementType(to) : shape;
}

// `value` with its arrays converted to those of `shape`.
Instruction* ConvertedTo(Shape shape, Instruction* value, Builder& builder) {
  if (Compatible(value->shape(), shape)) return value;
  if (!shape.IsTuple()) return builder.OpWithShape(Opcode::kConvert, shape, {value});
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(ConvertedTo(shape.element(i), builder.GetTupleElement(value, i), builder));
  return builder.Tuple(elements);
}

}  // namespace

absl::StatusOr<bool> ElementTypeConverter::Run(Module& module, PassContext& context) {
  if (options_.eliminate_type == options_.replace_with_type) return false;
  return ComputationPass::Run(module, context);
}

absl::StatusOr<bool> ElementTypeConverter::RunOnComputation(Computation& computation,
                                                            PassContext& context) {
  if (IsAsyncBody(computation)) return false;  // has no place for conversions
  bool changed = false;
  for (Instruction* instruction : computation.PostOrder()) {
    if (IsLeftAlone(*instruction)) continue;
    const std::vector<Instruction*> operands = instruction->operand_vector();
    const bool reads = absl::c_any_of(operands, [&](const Instruction* x) {
      return x->shape().element_type() == options_.eliminate_type;
    });
    if (!reads && !HoldsType(instruction->shape(), options_.eliminate_type)) continue;
    // A product may sum in another type than its operands'; nothing else makes one of another.
    const bool is_product = kMatrixProducts.Has(instruction->opcode());
    if (!reads && !operands.empty() && !is_product)
      return Error(instruction->loc(), "`{}` makes {} of operands of other types",
                   instruction->name(), Text(options_.eliminate_type));
    if (!context.MayRewrite()) return changed;
    context.Passed(*instruction, "computed in {}", Text(options_.replace_with_type));
    const uint32_t first_new = computation.module().id_limit();
    Rewriter rewriter(&computation, context, instruction);
    std::vector<Instruction*> converted;
    for (Instruction* operand : operands)
      converted.push_back(ConvertedTo(
          WithType(operand->shape(), options_.eliminate_type, options_.replace_with_type), operand,
          rewriter));
    Instruction* wide = computation.AddClone(
        *instruction,
        WithType(instruction->shape(), options_.eliminate_type, options_.replace_with_type),
        converted);
    Instruction* result = ConvertedTo(instruction->shape(), wide, rewriter);
    RETURN_IF_ERROR(rewriter.status());
    ReplaceKeepingExtras(instruction, result, first_new);
    // What is there for its effect alone is not converted back.
    if (result != wide && !result->is_used() && !result->is_root())
      computation.RemoveUnused(result);
    context.Count("converted");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(ElementTypeConverter)

}  // namespace hlo
