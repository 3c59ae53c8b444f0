// Taking the fusions of a module apart, for passes that do nothing else with them.
#pragma once

#include "absl/functional/function_ref.h"
#include "lib/ir/module.h"
#include "lib/support/decision.h"
#include "passes/pass.h"

namespace hlo {

// Unfuses what `keeps` does not keep, for the reason that it gives, callees first: in what is
// unfused, nested fusions have been asked about before. Bodies that nobody calls any more go.
// Whether anything changed.
bool UnfuseOthers(Module& module, PassContext& context,
                  absl::FunctionRef<Decision(const Instruction& fusion)> keeps);

}  // namespace hlo
