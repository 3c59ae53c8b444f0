// What a run of the whole program costs: how often each computation runs, and the costs of its
// instructions (cost.h) as many times.
//
//   w = while(…), 10 iterations, in the entry     its body runs 10 times, its condition 11 times
//   e = exponential(f32[4] …) in that body        40 transcendentals, 320 bytes
//
// Loops run as often as trip_count.h finds, else as their backend configuration says. What is not
// known is said to be so: a loop of unknown length counts as one iteration, a conditional as one
// run of each branch. Instructions that only run computations cost nothing beside these; fusions
// and regions are parts of their instructions. O(instructions), and what looking at loops costs;
// true until the program changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/analysis/cost.h"
#include "lib/ir/module.h"

namespace hlo {

// The number of iterations, as it is found or declared (`known_trip_count` of the backend
// configuration).
std::optional<int64_t> KnownTripCount(const Instruction& loop);

// Whether it only runs computations, which cost what they do.
bool RunsComputations(const Instruction& instruction);

// How often something runs in one run of the program.
struct Runs {
  double times = 0;      // 0: never, or only as a part of an instruction
  bool is_known = true;  // else a loop or a conditional on the way to it was guessed
};

class ProgramCost {
 public:
  explicit ProgramCost(const Module& module);

  const Runs& RunsOf(const Computation& computation) const { return runs_[computation.serial()]; }
  // Of all runs together.
  const Cost& Of(const Instruction& instruction) const { return costs_[instruction.id()]; }
  const Cost& Of(const Computation& computation) const {
    return computation_costs_[computation.serial()];
  }
  const Cost& total() const { return total_; }

  // Of those that the program reaches, callers first.
  struct Loop {
    const Instruction* loop;
    std::optional<int64_t> trip_count;
  };
  const std::vector<Loop>& loops() const { return loops_; }
  // Whether all loops and branches are known.
  bool is_known() const { return is_known_; }

  // A line for each computation that runs, then the sum.
  static std::string ToString(const Module& module);

 private:
  void AddRuns(const Computation& caller);
  void AddRuns(const Computation& callee, double times, bool is_known);
  void AddCosts(const Computation& computation);

  std::vector<Runs> runs_;               // by serial
  std::vector<Cost> computation_costs_;  // by serial
  std::vector<Cost> costs_;              // by id
  std::vector<Loop> loops_;
  Cost total_;
  bool is_known_ = true;
};

}  // namespace hlo
