#include "passes/testing/test_only_misbehave.h"

#include <unistd.h>

#include <csignal>

#include "lib/ir/builder.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

const Instruction* FirstMatch(const Module& module, std::string_view opcode,
                              std::string_view operand) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode_text() != opcode) continue;
      const auto operands = instruction->operands();
      const auto is_wanted = [&](const Instruction* o) { return o->opcode_text() == operand; };
      if (operand.empty() || absl::c_any_of(operands, is_wanted)) return instruction;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> TestOnlyMisbehave::Run(Module& module, PassContext& context) {
  for (const std::string& opcode : {options_.opcode, options_.operand}) {
    if (!opcode.empty() && !OpcodeFromText(opcode))
      return Error("unknown opcode `{}`{}", opcode, SuggestOpcode(opcode));
  }
  const std::string_view how = options_.how;
  const Instruction* match = FirstMatch(module, options_.opcode, options_.operand);
  const bool is_found = match != nullptr && context.MayRewrite();
  if (how == "abort") {
    HLO_CHECK(!is_found);
  } else if (how == "segfault") {
    if (is_found) raise(SIGSEGV);
  } else if (how == "hang") {
    while (is_found) pause();
  } else if (how == "error") {
    if (is_found) return Error(match->loc(), "cannot handle `{}`", match->name());
  } else if (how == "internal") {
    RET_CHECK(!is_found, "lost track of `{}`", match->name());
  } else if (how == "invalid" || how == "hide" || how == "lie") {
    if (!is_found) return false;
    Instruction* instruction = module.FindInstruction(match->name());
    if (how != "lie") {
      instruction->set_shape(Shape::Tuple({instruction->shape()}));
      return how == "invalid";
    }
    Computation* computation = instruction->parent();
    Instruction* same =
        computation->AddClone(*instruction, instruction->shape(), instruction->operand_vector());
    computation->Replace(instruction, Builder(computation).Copy(same));
    return false;
  } else if (how == "stale") {
    if (!is_found) return false;
    // It declares to keep what is known of side effects.
    Computation* computation = module.FindInstruction(match->name())->parent();
    context.analyses().Get<SideEffects>(module).Of(*computation);
    Instruction* token = computation->Add(Opcode::kAfterAll, Shape::Token());
    OutfeedAttrs attrs;
    attrs.outfeed_shape = computation->root()->shape();
    computation->Add(Opcode::kOutfeed, Shape::Token(), {computation->root(), token},
                     AttrsPtr::Make(std::move(attrs)));
    return true;
  }
  return false;
}

HLO_DEFINE_PASS(TestOnlyMisbehave)

}  // namespace hlo
