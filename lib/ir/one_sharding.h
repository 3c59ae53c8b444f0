// Which instructions hold one value under several names, and so are divided among devices in one
// way: their shardings are equal, as far as they have any.
//
//   while          itself, the result and the parameter of its body, the parameter of its condition
//   conditional    itself and the results of its branches
#pragma once

#include <vector>

#include "lib/ir/computation.h"

namespace hlo {

// The others that are divided as `caller` is; none where it is neither loop nor conditional.
inline std::vector<Instruction*> DividedLike(const Instruction& caller) {
  if (caller.opcode() == Opcode::kWhile) {
    const Computation& body = *caller.while_body();
    return {body.root(), body.parameter(0), caller.while_condition()->parameter(0)};
  }
  std::vector<Instruction*> results;
  if (caller.opcode() != Opcode::kConditional) return results;
  for (const Computation* branch : caller.calls()) results.push_back(branch->root());
  return results;
}

}  // namespace hlo
