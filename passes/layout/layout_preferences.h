// How the kernels of a platform want their operands to lie.
#pragma once

#include "passes/layout/layout_constraints.h"

namespace hlo {

// As XLA:CPU has it: products and convolutions that its libraries compute and TopK are row-major
// all through, what is gathered or scattered between devices is so along its major-most dimension,
// a constant matrix that only vectors are multiplied with lies in columns, and every other operand
// is read in row-major order.
void AddCpuPreferences(const Computation& computation, LayoutConstraints& constraints);

}  // namespace hlo
