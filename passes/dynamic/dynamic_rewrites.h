// What has to be written otherwise when dimensions end before their bounds, because masks are not
// enough. Operands have their bounds for shapes; `sizes` tells where they end.
#pragma once

#include "absl/status/status.h"
#include "passes/dynamic/dynamic_sizes.h"

namespace hlo {

// Rewrites `instruction` if its sizes ask for it. New values have their sizes in `sizes`.
using DynamicRewrite = absl::Status (*)(Instruction* instruction, DynamicSizes& sizes);

// Null: masks are enough.
DynamicRewrite DynamicRewriteFor(const Instruction& instruction);

// Of reshapes and dynamic-reshapes (rewrite_reshape.cc).
absl::Status RewriteDynamicReshape(Instruction* reshape, DynamicSizes& sizes);

// Puts `by`, which has the sizes of `old`, in the place of `old`.
void ReplaceWithSizes(Instruction* old, Instruction* by, DynamicSizes& sizes);

}  // namespace hlo
