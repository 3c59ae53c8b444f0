#include "passes/precision/change_op_data_type.h"

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/strings.h"
#include "passes/rewrite.h"
#include "passes/util/composite.h"

namespace hlo {
namespace {

// What means the bits of its operand, or is not ours to define.
constexpr OpcodeSet kNotOfItsType = {Opcode::kBitcast, Opcode::kBitcastConvert, Opcode::kConvert,
                                     Opcode::kCustomCall, Opcode::kDomain};

// The listed opcodes, or none: all.
// The element type that all operands have.
std::optional<ElementType> OperandType(const Instruction& instruction) {
  std::optional<ElementType> type;
  for (const Instruction* operand : instruction.operands()) {
    const ElementType of_operand = operand->shape().element_type();
    if (type && of_operand != *type) return std::nullopt;
    type = of_operand;
  }
  return type;
}

bool KeepsItsType(const Instruction& instruction) {
  return kNotOfItsType.Has(instruction.opcode()) || !instruction.shape().IsArray() ||
         instruction.shape().has_dynamic_dims() || instruction.call_count() > 0 ||
         instruction.HasSideEffect();
}

absl::Status Compute(Instruction* instruction, ElementType type, PassContext& context) {
  Computation& computation = *instruction->parent();
  const uint32_t first_new = computation.module().id_limit();
  Rewriter rewriter(&computation, context, instruction);
  std::vector<Instruction*> converted;
  absl::flat_hash_map<const Instruction*, Instruction*> known;
  for (Instruction* operand : instruction->operands()) {
    Instruction*& of_operand = known[operand];
    if (of_operand == nullptr) of_operand = rewriter.Convert(operand, type);
    converted.push_back(of_operand);
  }
  RETURN_IF_ERROR(rewriter.status());
  const Shape shape = instruction->shape();
  Instruction* result = computation.AddClone(*instruction, shape.WithElementType(type), converted);
  if (shape.element_type() != type) {
    // The value of the source program is what it is converted to.
    if (result->extras() != nullptr) result->mutable_extras().origin.reset();
    result = rewriter.OpWithShape(Opcode::kConvert, shape, {result});
  }
  RETURN_IF_ERROR(rewriter.status());
  ReplaceKeepingExtras(instruction, result, first_new);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ChangeOpDataType::Run(Module& module, PassContext& context) {
  const OpcodeSet opcodes = options_.opcodes.set();
  const bool takes_all = options_.opcodes.empty();
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if ((!takes_all && !computation->MayHoldAny(opcodes)) || IsCompositeBody(*computation) ||
        IsAsyncBody(*computation))
      continue;
    for (Instruction* instruction : computation->PostOrder()) {
      if ((!takes_all && !opcodes.Has(instruction->opcode())) || KeepsItsType(*instruction))
        continue;
      const std::optional<ElementType> from = OperandType(*instruction);
      const std::optional<ElementType> to = from ? options_.types.Of(*from) : std::nullopt;
      if (!to) continue;
      const ElementType result = instruction->shape().element_type();
      if (result != *from && result != *to) {
        context.Missed(*instruction, fmt::format("makes {} of {}", Text(result), Text(*from)));
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*instruction, "computed in {}", Text(*to));
      RETURN_IF_ERROR(Compute(instruction, *to, context));
      context.Count("changed");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ChangeOpDataType)

}  // namespace hlo
