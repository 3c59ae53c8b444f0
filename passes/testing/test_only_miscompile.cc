#include "passes/testing/test_only_miscompile.h"

#include <optional>

#include "lib/ir/builder.h"

namespace hlo {
namespace {

absl::StatusOr<std::optional<Opcode>> OpcodeOption(std::string_view text) {
  if (text.empty()) return std::optional<Opcode>();
  const std::optional<Opcode> opcode = OpcodeFromText(text);
  if (!opcode) return Error("unknown opcode `{}`{}", text, SuggestOpcode(text));
  return opcode;
}

// x  =>  x + 1, or not(x)
absl::Status OffByOne(Instruction* instruction) {
  Builder builder(instruction);
  // A clone takes over the uses before the original becomes the operand of what replaces it.
  const std::vector<Instruction*> operands = instruction->operand_vector();
  Instruction* right =
      instruction->parent()->AddClone(*instruction, instruction->shape(), operands);
  Instruction* wrong = IsPred(right->shape().element_type())
                           ? builder.Not(right)
                           : builder.Add(right, builder.ConstantLike(right, 1));
  RETURN_IF_ERROR(builder.status());
  instruction->parent()->Replace(instruction, wrong);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> TestOnlyMiscompile::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const std::optional<Opcode> opcode, OpcodeOption(options_.opcode));
  ASSIGN_OR_RETURN(const std::optional<Opcode> operand, OpcodeOption(options_.operand));
  int64_t done = 0;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != opcode || !instruction->shape().IsArray()) continue;
      if (instruction->opcode() == Opcode::kParameter) continue;
      const auto operands = instruction->operands();
      const auto is_wanted = [&](const Instruction* o) { return o->opcode() == operand; };
      if (operand && absl::c_none_of(operands, is_wanted)) continue;
      if (done == options_.limit || !context.MayRewrite()) return done > 0;
      RETURN_IF_ERROR(OffByOne(instruction));
      context.Count("off-by-one");
      ++done;
    }
  }
  return done > 0;
}

HLO_DEFINE_PASS(TestOnlyMiscompile)

}  // namespace hlo
