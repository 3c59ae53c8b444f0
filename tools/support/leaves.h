// Values as the list of their array leaves, and back. Tokens and other leaves without data do not
// count.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/computation.h"
#include "lib/types/literal.h"

namespace hlo {

// One array leaf of the parameters of a computation.
struct ParameterLeaf {
  int parameter = 0;  // -1: an output
  ShapeIndex index;   // inside the parameter
  Shape shape;
  std::string name;  // "x", or "x{1,0}" inside a tuple
};

// The array leaves of all parameters, in order.
std::vector<ParameterLeaf> ParameterLeaves(const Computation& computation);
// The array leaves of a value, in order; they share its data.
std::vector<Literal> ArrayLeaves(const Literal& value);
// The value of this shape made of array leaves, taken in order from `at` on; `at` moves past
// them.
Literal FromLeaves(Shape shape, const std::vector<Literal>& leaves, size_t& at);

}  // namespace hlo
