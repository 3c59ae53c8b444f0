// lib/ops/async_pairs.h
//
// Opcodes with asynchronous forms of their own, as their texts say: `all-gather` has
// `all-gather-start` and `all-gather-done`; `send` starts by itself and has `send-done`.
#pragma once

#include <span>

#include "lib/ops/ops.h"

namespace hlo {

struct AsyncPair {
  Opcode opcode, start, done;
};

// In the order of the table of opcodes.
std::span<const AsyncPair> AsyncPairs();
// The pair that `opcode` is one of the three of, or null.
const AsyncPair* AsyncPairOf(Opcode opcode);
// Whether it is the start, or the done, of such a pair; async-start and async-done are, too.
bool BeginsPair(Opcode opcode);
bool EndsPair(Opcode opcode);
// Whether what it yields is under way, until its done, its one reader, ends it.
bool YieldsUnderWay(Opcode opcode);

}  // namespace hlo
