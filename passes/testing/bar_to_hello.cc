#include "passes/testing/bar_to_hello.h"

#include "passes/testing/foo_to_bar.h"

namespace hlo {

absl::StatusOr<bool> BarToHello::Run(Module& module, PassContext& context) {
  return RenameInstructions(module, context, "bar", "hello");
}

HLO_DEFINE_PASS(BarToHello)

}  // namespace hlo
