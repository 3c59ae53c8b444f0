#include "backends/codegen/row_major.h"

#include "lib/ir/any_instruction.h"
#include "lib/support/status.h"

namespace hlo {

absl::Status CheckRowMajor(const Module& module) {
  for (const Instruction* instruction : AllInstructions(module)) {
    const Shape shape = instruction->shape();
    if (shape == shape.WithDefaultLayout()) continue;
    return Unsupported(instruction->loc(),
                       "`{}` is `{:l}`; code is generated for row-major arrays, which the passes "
                       "bitcast-expander and row-major-layouts make of all but what a bitcast of "
                       "dynamic dimensions reads",
                       instruction->name(), shape);
  }
  return absl::OkStatus();
}

}  // namespace hlo
