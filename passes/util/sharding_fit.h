// Whether values of a shape can be divided as a sharding says: tiles have as many dimensions. What
// the verifier asks of every instruction, for passes that hand a sharding on.
#pragma once

#include <vector>

#include "lib/types/shape.h"
#include "lib/types/sharding.h"

namespace hlo {

// Each leaf of `shape` like `leaf`.
bool FitsAll(const Sharding::Leaf& leaf, Shape shape);
// One after the other; not if there are more or fewer leaves than `shape` has.
bool FitLeaves(const std::vector<Sharding::Leaf>& leaves, Shape shape);

}  // namespace hlo
