// Values that control flow only seems to make: loop states and branch values that are one and the
// same value whichever way the program goes.
//
//   w = while((x, x)), body returns (p{1}, p{0})     both elements are x
//   c = conditional(i, t, t), branches return t{0}   c is t{0}
//
// Found like redundant phis of SSA form (Braun et al., "Simple and Efficient Construction of Static
// Single Assignment Form", 2013, section 3.2): strongly connected sets of phis with one input from
// outside are that input. In O(phis and inputs) for each level of loops in loops.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "lib/analysis/values.h"

namespace hlo {

// Whether more than one call leads into the computation: what it makes is another value after each.
bool HasSeveralCallers(const Computation& computation);

// Of each value the one that it is: itself, or one with a smaller number.
std::vector<ValueId> FindSameValues(absl::Span<const Value> values);

}  // namespace hlo
