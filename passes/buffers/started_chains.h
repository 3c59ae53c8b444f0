// What is under way across the border of a loop: memory that was handed over before the loop, or
// by one iteration to the next, and cannot be copied meanwhile.
//
//   s = send(x, t), w = while(tuple(…, s))                begins before the loop
//   body: d = send-done(get-tuple-element(p, 1))  …       ends what the iteration before began, and
//         s = send(y, t)  ROOT tuple(…, s)                begins what the next one ends
//
// Buffers are such memory, too, from Pin or CreateBuffer to Unpin, by way of what updates them.
#pragma once

#include <optional>

#include "lib/ir/module.h"

namespace hlo {

struct StartedChain {
  Instruction* begin = nullptr;
  // Of the same body, of what the iteration before began there; null: there is none.
  Instruction* end = nullptr;
};

// The chain that `begin` begins, if that crosses the border of a loop.
std::optional<StartedChain> ChainAcrossLoop(Instruction* begin);

}  // namespace hlo
