// The last step of the padder: no instruction but those that want them sees an array that ends
// before its bounds.
#pragma once

#include <vector>

#include "passes/dynamic/dynamic_dimension_inference.h"

namespace hlo {

// Gives dynamic operands to what requires them and a dynamic result, with `slice_output`, to the
// entry; the others lose what is left of dynamic dimensions. An error when that cannot be because a
// size is not known. Returns whether something changed.
absl::StatusOr<bool> RemoveDynamicShapes(Module& module, const std::vector<Computation*>& seen,
                                         const SupportOf& support, bool slice_output,
                                         DynamicSizes& sizes);

}  // namespace hlo
