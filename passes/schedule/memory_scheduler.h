// Schedules every computation so that little memory is live at a time.
//
//   b1 = broadcast(k)  q1 = reduce(b1)  b2 = broadcast(k)  q2 = reduce(b2)  r = add(q1, q2)
//       =>   b1, q1, b2, q2, r    and not    b1, b2, q1, q2, r
//
// `algorithm`:
//   list       of what is ready, what frees most bytes, then what has most users
//   dfs        depth first from the root; of operands first that with most further users above it,
//              then that with most bytes above it, then by name
//   postorder  the order of text
//   bfs        what becomes ready first runs first: much may run at the same time
//   default    the one of list, dfs and postorder with the smallest peak
// The peak counts the bytes of values that somebody still reads, and that of called computations;
// parameters, constants and what only gives another name to a value count nothing. Buffers that are
// shared are not known here.
//
// Requires: nothing.  Ensures: the module is scheduled.  The answer "changed" is about
// the schedule.
#pragma once

#include "lib/ir/dense_map.h"
#include "passes/planned_pass.h"

namespace hlo {

struct MemorySchedulerOptions {
  std::string algorithm = "default";

  static auto Fields() {
    return std::tuple{Optional("algorithm", &MemorySchedulerOptions::algorithm)};
  }
};

struct MemorySchedule {
  std::vector<Instruction*> sequence;
  int64_t peak_bytes = 0;
};

class MemoryScheduler final : public PlannedPass<MemorySchedule> {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using Options = MemorySchedulerOptions;
  explicit MemoryScheduler(Options options = {}) : options_(std::move(options)) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 protected:
  absl::StatusOr<MemorySchedule> Plan(const Computation& computation,
                                      const Plans& callees) const override;
  absl::StatusOr<bool> Apply(Computation& computation, MemorySchedule plan,
                             PassContext& context) override;

 private:
  InstructionMap<uint32_t> numbers_;  // the place of each instruction in its computation
  Options options_;
};

}  // namespace hlo
