// What is under way across the border of a loop: memory that was handed over before the loop, or
// by one iteration to the next, and cannot be copied meanwhile.
//
//   s = send(x, t), w = while(tuple(…, s))                begins before the loop
//   body: d = send-done(get-tuple-element(p, 1))  …       ends what the iteration before began, and
//         s = send(y, t)  ROOT tuple(…, s)                begins what the next one ends
//
// Buffers are such memory, too, from Pin or CreateBuffer to Unpin, by way of what updates them;
// where arrays are dense, so is what any other start that forwards its operand
// (lib/analysis/forwarding.h) holds for its done.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

struct StartedChain {
  Instruction* begin = nullptr;
  // Of the same body, of what the iteration before began there; null: there is none.
  Instruction* end = nullptr;
};

// The chain that `begin` begins, if that crosses the border of a loop. `dense`: as the option of
// copy-insertion.
std::optional<StartedChain> ChainAcrossLoop(Instruction* begin, bool dense);

// Where arrays are dense, a started copy makes nothing, so what it copies and what it makes are one
// place; a loop has two for them. Those that cross a border of a loop become
//   tuple(copy(x), x, 0)
// and their dones elements of what comes back.
absl::Status WriteOutCopiesAcrossLoops(Module& module);

}  // namespace hlo
