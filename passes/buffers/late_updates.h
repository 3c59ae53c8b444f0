// Lets loops compute the next state when nothing of the body needs the present one any more.
//
//   body: i2 = add(i, 1)  y = multiply(x, i)  returns (i2, y)      =>      y = …  i2 = …
//
// In the order on the right i2 may be written over i; on the left i has to be kept for y.
#pragma once

#include <vector>

#include "lib/analysis/alias.h"
#include "lib/analysis/values.h"

namespace hlo {

// Changes the schedules of loop bodies: what makes an element of the next state, and is read by
// nothing else, goes after the last reader of that element. Returns whether any did.
bool MoveUpdatesLate(const Values& values);

// The same in all computations for what is to be written over an operand: the parts of a result
// that `pairs_of` gives.
using PairsOf = std::vector<InPlacePair> (*)(const Instruction& instruction);
void MoveUpdatesLate(const Values& values, PairsOf pairs_of);

}  // namespace hlo
