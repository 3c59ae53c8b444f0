// How far results of a module may differ that are computed in another order or with other
// approximations: from the operations on the way to them.
//
//   a sum or product of n terms          1.5 n roundings, of f32 where the type is narrower, and one
//                                        of the type
//   exp, sin, sqrt, … of an element      4 roundings
//   another operation                    one for each operation on an element of it
//   what only moves values               none
//
// Along a way errors add up; of several ways the worst one counts. A loop counts as often as it
// runs, once where nobody knows.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// For each array leaf of the result, relative to the largest value of the output; 0 where values
// are no floats and must be equal. At most 0.5.
std::vector<double> RelativeErrors(const Module& module);

}  // namespace hlo
