// Asynchronous collectives as synchronous ones.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// The halves of collectives: with opcodes of their own, or a collective inside async-start.
bool StartsCollective(const Instruction& instruction);
bool EndsCollective(const Instruction& instruction);

// Custom calls that only ask for an order with `half`, one half of a pair.
std::vector<Instruction*> ControlDeps(const Instruction& half);

// Whether one collective may stand for both: nothing but `done` and calls that ask for an order
// reads `start`, and control edges put nothing between them.
bool MayJoin(Instruction* start, Instruction* done);

// Puts the collective where `done` is, which ends what `start` begins (`MayJoin`):
//
//   s = f32[4] all-reduce-start(x), to_apply=add
//   r = f32[4] all-reduce-done(s)
//       =>   r = f32[4] all-reduce(x), to_apply=add, frontend_attributes={async_collective_name="s"}
//
// Control edges of both are those of the collective, whose sharding is that of `done`.
Instruction* JoinCollective(Instruction* start, Instruction* done);

// The same where a schedule has the order, for which the caller cares: control edges and shardings
// of both have done what they were there for, and go.
Instruction* JoinScheduledCollective(Instruction* start, Instruction* done);

}  // namespace hlo
