// Schedules every computation so that little memory is live at a time.
//
//   b1 = broadcast(k)  q1 = reduce(b1)  b2 = broadcast(k)  q2 = reduce(b2)  r = add(q1, q2)
//       =>   b1, q1, b2, q2, r    and not    b1, b2, q1, q2, r
//
// `algorithm`:
//   list       of what is ready, scalars, then what frees most bytes, then what has most users,
//              then what became ready last
//   dfs        depth first from the root; of operands first that with most further users above it,
//              then that with most bytes above it, then by name; parameters and constants count
//              nothing
//   postorder  the order of text
//   bfs        what becomes ready first runs first: much may run at the same time
//   default    the one of list, dfs and postorder, for all computations, with which the entry has
//              the smallest peak
// Bytes are those of values (memory_values.h): each leaf by itself and under whatever name, and the
// tables of tuples. The peak counts what somebody still reads, and that of called computations.
// Parameters and constants count nothing, what a loop begins with becomes its state, and a result
// that is made element by element, or sorted, may lie where an operand ends that has its shape;
// other memory that values may share is not known here.
//
// Requires: nothing.  Ensures: the module is scheduled.  The answer "changed" is about
// the schedule.
#pragma once

#include "lib/analysis/values.h"
#include "lib/ir/dense_map.h"
#include "passes/planned_pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct MemorySchedulerOptions {
  OneOf<"default", "list", "dfs", "postorder", "bfs"> algorithm;

  HLO_OPTIONS(MemorySchedulerOptions, algorithm)
};

struct ScheduledOrder {
  std::vector<Instruction*> sequence;
  int64_t peak_bytes = 0;
};
// By each algorithm that is tried.
using MemorySchedule = std::vector<ScheduledOrder>;

class MemoryScheduler final
    : public WithOptions<PlannedPass<MemorySchedule>, MemorySchedulerOptions> {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 protected:
  absl::StatusOr<MemorySchedule> Plan(const Computation& computation,
                                      const Plans& callees) const override;
  absl::StatusOr<bool> Apply(Computation& computation, MemorySchedule plan,
                             PassContext& context) override;

 private:
  void TakeOrders(const Module& module);

  const Values* values_ = nullptr;    // while it runs
  std::vector<bool> is_alone_;        // of them
  InstructionMap<uint32_t> numbers_;  // the place of each instruction in its computation
  // Each computation looks at its own alone: the number of each value in the computation that makes
  // it; the post-order, by serial, where it is known.
  mutable std::vector<uint32_t> numbers_of_values_;
  mutable std::vector<std::vector<uint32_t>> orders_;
  mutable size_t way_ = 0;  // which algorithm it is; known when the entry has been planned
};

}  // namespace hlo
