// Asynchronous collectives as synchronous ones.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// The halves of collectives: with opcodes of their own, or a collective inside async-start.
bool StartsCollective(const Instruction& instruction);
bool EndsCollective(const Instruction& instruction);

// Whether one collective may stand for both: nothing but `done` reads `start`, and control edges
// put nothing between them.
bool MayJoin(Instruction* start, Instruction* done);

// Puts the collective where `done` is, which ends what `start` begins (`MayJoin`):
//
//   s = f32[4] all-reduce-start(x), to_apply=add
//   r = f32[4] all-reduce-done(s)
//       =>   r = f32[4] all-reduce(x), to_apply=add, frontend_attributes={async_collective_name="s"}
void JoinCollective(Instruction* start, Instruction* done);

}  // namespace hlo
