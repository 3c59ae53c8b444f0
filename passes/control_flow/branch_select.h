// Running both branches of a conditional and choosing afterwards.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

// Calls both branches of `conditional`, which has two, chooses their results by `pred`, element by
// element, puts that in its place and inlines both calls. Tokens are joined.
absl::Status ReplaceBySelect(Instruction* conditional, Instruction* pred);

}  // namespace hlo
