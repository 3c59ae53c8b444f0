#include "lib/types/elided.h"

#include <algorithm>

namespace hlo {

bool HoldsElided(const Literal& literal) {
  return literal.is_elided() ||
         std::any_of(literal.elements().begin(), literal.elements().end(), HoldsElided);
}

}  // namespace hlo
