#include "lib/ir/any_instruction.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

// p0, p1, … for parameters, else the opcode's text.
std::string PlainName(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kParameter) return std::string(instruction.opcode_text());
  return "p" + std::to_string(instruction.parameter_number());
}

}  // namespace

bool TidyNames(Reducer& reducer) {
  reducer.set_step("names");
  return reducer.Try([](Module& module) {
    module.set_name("reduced");
    // Names in use are given a number: first none of the new ones may be.
    int64_t count = 0;
    for (Instruction* instruction : AllInstructions(module))
      module.Rename(instruction, "renamed-" + std::to_string(count++));
    module.UniquifyNames();
    for (Computation* computation : module.PostOrder()) {
      for (Instruction* instruction : computation->PostOrder())
        module.Rename(instruction, PlainName(*instruction));
    }
    return true;
  });
}

}  // namespace hlo
