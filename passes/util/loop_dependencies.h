// Which elements of a loop's state matter.
#pragma once

#include <vector>

#include "lib/analysis/side_effects.h"
#include "lib/ir/module.h"

namespace hlo {

// For each element of the state of `loop` whether it can go: nothing that happens and nothing that
// is read afterwards depends on it, directly or through other elements in later iterations; an
// element that only passes through may be read afterwards (its first value is its last one).
//
// Liveness (lib/analysis) asks something else: it looks at the whole module, where an element is
// needed when something needed reads it after the loop, and sees no difference between the first
// and the last value of one that passes through. This is about one loop, at the cost of that loop,
// for passes that change one after the other.
//
// Requires a body whose root is a tuple instruction and computations that read their parameter by
// get-tuple-element only.
std::vector<bool> UnneededElements(const Instruction& loop, SideEffects& effects);

}  // namespace hlo
