// The uses of one instruction: which instruction reads it, at which operand.
//
// Adding and removing are O(1): each operand slot remembers its position here, and removal swaps
// the last use into the hole. So the order of uses is deterministic but not meaningful; code that
// needs an order sorts by instruction id.
//
// A use is listed once per operand: add(x, x) uses x twice.
//
// Invariant (verifier): user->operand(u.operand_index) is the owner of this list.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace hlo {

class Instruction;
class Computation;

struct Use {
  Instruction* user;
  int operand_index;
  friend bool operator==(const Use&, const Use&) = default;
};
using UseList = absl::InlinedVector<Use, 2>;

// An operand slot: the producer and the position of this use in the producer's list.
struct OperandSlot {
  Instruction* producer;
  uint32_t position;
};

// A called computation and the position of this call in the callee's caller list.
struct CallSlot {
  Computation* callee;
  uint32_t position;
};

// One call of a computation: the calling instruction and which of its calls it is.
struct CallSite {
  Instruction* caller;
  int call_index;
  friend bool operator==(const CallSite&, const CallSite&) = default;
};

}  // namespace hlo
