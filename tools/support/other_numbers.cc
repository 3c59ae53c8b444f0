#include "tools/support/other_numbers.h"

#include "absl/algorithm/container.h"
#include "lib/ir/any_instruction.h"
#include "lib/ops/attrs.h"
#include "passes/pass.h"

namespace hlo {
namespace {

bool Draws(const Instruction& instruction) { return instruction.opcode() == Opcode::kRng; }

bool DrawsByDefault(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kRngBitGenerator &&
         instruction.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kDefault;
}

}  // namespace

bool DrawsOtherNumbers(const PipelineItem& pass, const Module& before) {
  if (pass.name == "rng-expander") return AnyInstruction(before, Draws);
  if (pass.name != "rng-bit-generator-expander") return false;
  const bool as_interpreted = absl::c_any_of(pass.options, [](const OptionText& option) {
    return option.name == "default_algorithm" && option.value == "philox";
  });
  return !as_interpreted && AnyInstruction(before, DrawsByDefault);
}

}  // namespace hlo
