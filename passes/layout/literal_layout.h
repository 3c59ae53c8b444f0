// Literals under the layouts of other shapes.
#pragma once

#include "lib/types/literal.h"

namespace hlo {

// The same values with the layouts of `shape`, which is that of the literal but for layouts.
Literal LiteralWithLayouts(const Literal& literal, Shape shape);

}  // namespace hlo
