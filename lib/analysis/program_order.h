// The order in which a program runs, as a list: what is called stands where it is called.
//
//   entry: a, w = while(a) condition=c body=b, r      a visited; w begins; enters c … leaves c;
//                                                     enters b … leaves b; w ends; r visited
//
// Computations run in the order of their schedule, else in post-order. Bodies of loops and branches
// stand there once. The computation of an async-start stands at the start, though it may run at any
// time until the done. A computation that is called again is entered and left without its
// instructions (`again`). Regions and fusions are parts of one instruction and not walked.
//
// O(instructions); no recursion, calls may be nested as deep as a text likes.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

struct ProgramStep {
  enum class Kind : uint8_t {
    kVisit,  // an instruction that runs nothing else
    kBegin,  // one that calls; kEnter and kLeave of its callees follow, then kEnd
    kEnter,
    kLeave,
    kEnd,
  };
  Kind kind;
  const Instruction* instruction;
  int call = 0;        // kEnter, kLeave: which of its calls
  bool again = false;  // kEnter, kLeave: walked before
  const Computation& callee() const { return *instruction->call(call); }
};

std::vector<ProgramStep> ProgramOrder(const Module& module);

}  // namespace hlo
