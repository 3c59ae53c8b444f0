// How often a loop runs.
//
// The induction variable of a loop is the one scalar element of its state that the condition
// depends on, provided that its next value depends on nothing but itself:
//
//   condition: compare(get-tuple-element(p, 0), 10), direction=LT
//   body:      tuple(add(get-tuple-element(p, 0), 1), …)                => element 0
//
// Loops that count up by a constant to a constant bound are solved; others are tried out on the
// interpreter, for a limited number of iterations.
#pragma once

#include <optional>
#include <string>

#include "lib/ir/module.h"

namespace hlo {

// The index of the induction variable of `loop`.
std::optional<int64_t> InductionIndex(const Instruction& loop);

// A loop `for (i = init; i < bound; i += step)` with constants, step > 0.
struct CountedLoop {
  int64_t init = 0;
  int64_t step = 0;
  int64_t trip_count = 0;
  // The value of the induction variable after the loop.
  int64_t final_value() const { return init + step * trip_count; }
};
std::optional<CountedLoop> MatchCountedLoop(const Instruction& loop, int64_t index);

constexpr int64_t kMaxTriedIterations = 128;

// The exact number of iterations, if it can be found.
std::optional<int64_t> TripCount(const Instruction& loop, int64_t max_tried = kMaxTriedIterations);

// Whether the loop is known to run once at most, though perhaps not whether it runs: its condition
// looks at one element, which the body sets to a constant that ends it.
bool RunsAtMostOnce(const Instruction& loop);

// The constant that `instruction` is known to be, through tuples and operations on constants; only
// cheap evaluations are tried.
std::optional<Literal> KnownValue(const Instruction& instruction);
// Of an integer scalar; none beyond 2^63.
std::optional<int64_t> KnownInteger(const Instruction& instruction);

// A line for each loop.
std::string TripCountsToString(const Module& module);

}  // namespace hlo
