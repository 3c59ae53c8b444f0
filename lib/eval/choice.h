// lib/eval/choice.h
//
// What a region that only compares and selects (maximum, arg-max, …) makes of elements of equal
// rank. Found by running it on all pairs of a few values: the answer cannot depend on more than the
// order of its arguments.
#pragma once

#include <optional>

#include "lib/ir/computation.h"

namespace hlo {

// Whether the region only compares and selects.
bool IsChoice(const Computation& region);

enum class TieOrder {
  kAny,    // combining is commutative: the order of the elements does not matter
  kFirst,  // of elements of equal rank the first one is the result,
  kLast,   // or the last one
};

// Elements may be combined in any grouping, with any number of initial values in between, as long
// as ties are kept in this order; nothing when the region is no such choice: then only one element
// after the other is right. So it is where comparisons forget NaN (a >= b ? a : b); kNone asks
// about arrays without.
enum class Nan { kSome, kNone };
std::optional<TieOrder> TieOrderOf(const Computation& region, Nan nan = Nan::kSome);

}  // namespace hlo
