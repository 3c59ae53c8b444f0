// How long instructions take by the model of cost.h, and what runs between the two halves of an
// asynchronous operation.
//
//   s = async-start(x)   1 ms in the background        pair s..d: 1 ms, of which `m` hides 0.4 ms,
//   m = dot(a, b)        0.4 ms                        0.6 ms are exposed
//   d = async-done(s)
//
// A start and a done cost the main sequence nothing by themselves: what they stand for runs in the
// background. Loops take as often as they are known to run (program_cost.h), else once; a
// conditional its longest branch. Collectives count as the memory that they move.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/analysis/cost.h"
#include "lib/ir/module.h"

namespace hlo {

// The start whose done `done` is; null when it is no done, or its start cannot be followed.
const Instruction* StartOfDone(const Instruction& done);

// Durations in seconds on one platform. What is called is looked at once. O(instructions).
class Durations {
 public:
  Durations(const Module& module, const PlatformRates& rates);

  // What the sequence that runs the instruction waits for.
  double Of(const Instruction& instruction) const;
  // What goes on between a start and its done.
  double InBackground(const Instruction& start) const;

 private:
  double OfComputation(const Computation& computation) const;

  const PlatformRates& rates_;
  std::vector<double> computations_;  // by serial
};

// The two halves, where both stand in one computation.
struct AsyncOverlap {
  const Instruction* start;
  const Instruction* done;
  std::vector<const Instruction*> between;  // in program order, without what only passes names on
  double seconds = 0;                       // in the background
  double hidden = 0;                        // of them, by what stands between
  double exposed() const { return seconds - hidden; }
};

// In the order of the dones, computations as the module has them. Program order is the schedule
// where there is one, else the post-order.
std::vector<AsyncOverlap> AsyncOverlaps(const Module& module, const Durations& durations);

// The pairs, where they stand, and times on the first platform of the table; what passes through
// loops and calls is only named.
std::string AsyncOverlapsToString(const Module& module);

}  // namespace hlo
