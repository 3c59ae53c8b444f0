// Constants whose values were left out when the text was printed (`constant({...})`).
#pragma once

#include "lib/types/literal.h"

namespace hlo {

// Whether the literal, or an array inside it, has no values.
bool HoldsElided(const Literal& literal);

}  // namespace hlo
