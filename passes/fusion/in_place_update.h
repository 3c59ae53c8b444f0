// Fusions that update an array in place must not overwrite what they still read.
//
//   u = dynamic-update-slice(b, s, i)      u may compute s when s reads nothing of b, or exactly the
//                                          elements that are written, or each where it is written
#pragma once

#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo {

// Whether `consumer`, a dynamic-update-slice or a fusion that ends with one, still updates its
// operand in place when it computes `producer` itself. Yes for what updates nothing.
Decision KeepsUpdateInPlace(const Instruction& producer, const Instruction& consumer);

}  // namespace hlo
