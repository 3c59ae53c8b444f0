#include "backends/codegen/row_major.h"

#include "lib/support/status.h"

namespace hlo {

absl::Status CheckRowMajor(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const Shape shape = instruction->shape();
      if (shape == shape.WithDefaultLayout()) continue;
      return Unsupported(instruction->loc(),
                         "`{}` is `{:l}`; code is generated for row-major arrays, which the passes "
                         "bitcast-expander and row-major-layouts make of all but what a bitcast of "
                         "dynamic dimensions reads",
                         instruction->name(), shape);
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo
