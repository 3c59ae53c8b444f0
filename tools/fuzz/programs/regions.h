// Small computations that reductions, sorts and scatters call.
#pragma once

#include <vector>

#include "lib/ir/module.h"
#include "lib/ops/attrs.h"
#include "tools/fuzz/random.h"

namespace hlo {

// An operation that reduces values of the type: add, multiply, maximum, and, …
Opcode RandomReducer(FuzzRandom& random, ElementType type);
// What reductions by it usually start with: it leaves values as they are.
Literal StartOf(Opcode reducer, ElementType type);

// (value, place) x (value, place) -> the larger value and its place. Without `breaks_ties` the
// first operand wins by the comparison alone, as some frontends write it.
Computation* ArgRegion(Module& module, ElementType type, bool largest, bool breaks_ties);
// Two reductions side by side.
Computation* PairRegion(Module& module, Opcode first, ElementType first_type, Opcode second,
                        ElementType second_type);
// One reduction whose result is a tuple.
Computation* TupleOfOneRegion(Module& module, Opcode reducer, ElementType type);
// More than one operation: of what is so far and something made of the element.
Computation* SeveralRegion(Module& module, FuzzRandom& random, ElementType type);
// (x, y) -> x `direction` y, for `pairs` pairs of which only the first counts.
Computation* CompareRegion(Module& module, ElementType type, ComparisonDirection direction,
                           int pairs);
// The order of a sort of arrays of these types by the first one.
Computation* SortRegion(Module& module, const std::vector<ElementType>& types,
                        ComparisonDirection direction, bool total_order);

}  // namespace hlo
