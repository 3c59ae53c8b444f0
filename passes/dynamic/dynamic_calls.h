// Custom calls by which front ends say that the padding of a window follows from sizes that are
// known at run time only: convolutions, their gradients, pooling and its gradient.
#pragma once

#include <string_view>

#include "passes/dynamic/size_inference.h"

namespace hlo {

struct DynamicCallRules {
  std::string_view target;
  SizeRule infer;
  // The static operations that compute what `call` does, in its computation. Of the operands only
  // what is inside their sizes counts.
  absl::StatusOr<Instruction*> (*expand)(Instruction* call, const DynamicSizes& sizes);
};

// Null when the target is none of them.
const DynamicCallRules* DynamicCallRulesFor(std::string_view target);

}  // namespace hlo
