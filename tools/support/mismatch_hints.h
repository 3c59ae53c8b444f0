// What the differences of two arrays have in common: how many there are of which size, where they
// lie, whether the values are moved or scaled, and with which tolerance they would agree.
#pragma once

#include <string>

#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"

namespace hlo {

// Lines, each indented by two blanks; "" where nothing differs. `report` is of these two arrays.
std::string MismatchHints(const Literal& actual, const Literal& expected,
                          const CompareReport& report);

}  // namespace hlo
