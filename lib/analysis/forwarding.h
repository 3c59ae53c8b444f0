// Which leaves of a result are leaves of operands under another name.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// A leaf of an operand, or, with operand -1, a value that the instruction makes.
struct LeafSource {
  int operand = -1;
  int64_t leaf = 0;
  friend bool operator==(const LeafSource&, const LeafSource&) = default;
};

// One per leaf of the result, depth first; empty when it makes all of them. `dense`: see
// IsAliasWhenDense (alias.h). Of instructions without control flow: what loops, conditionals, calls
// and asynchronous computations pass on depends on what they call (values.h).
//
//   get-tuple-element(t), index=1      the leaves of element 1 of t
//   all-gather-start(x): (x', y)       x' is x, y is made
//   all-gather-done(s)                 y of s
std::vector<LeafSource> ForwardedLeaves(const Instruction& instruction, bool dense);

}  // namespace hlo
