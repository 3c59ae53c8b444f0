// Which arrays another element type holds without loss.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Whether what `x` holds is of `type` already, seen through broadcasts, reshapes and transposes: a
// conversion from it that loses nothing, or a constant that comes back from it as it was.
bool IsLosslessIn(ElementType type, const Instruction& x);

}  // namespace hlo
