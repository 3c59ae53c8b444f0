// Which types hold all values of others.
#pragma once

#include "lib/types/element_type.h"

namespace hlo {

// How many binary digits integers and floats hold exactly; 0 for others.
int ExactDigits(ElementType type);

// Whether every value of `from` is one of `to`.
bool HoldsEvery(ElementType to, ElementType from);

}  // namespace hlo
