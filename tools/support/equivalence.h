// Whether a module still computes what it computed: runs it on the interpreter with inputs made
// from seeds, before and after it was changed.
//
//   ASSIGN_OR_RETURN(ReferenceRuns runs, ReferenceRuns::Make(module, {}));
//   … run a pass …
//   ASSIGN_OR_RETURN(const std::string difference, runs.Compare(module, kExact));
//
// Modules for several devices run on as many simulated ones; what spmd-partitioner made of a module
// gets its inputs cut, and its results are put together. Calls of NVIDIA's libraries run as
// what they mean (passes/gpu/library_calls.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "lib/types/literal_compare.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "tools/support/random_arguments.h"

namespace hlo {

struct EquivalenceOptions {
  uint64_t first_seed = kDefaultSeed;
  int64_t seeds = 1;
  int64_t max_work = 0;                // elements that one run computes at most; 0: no limit
  int64_t max_loop_iterations = 0;     // of one `while`; 0: no limit
  std::optional<Tolerance> tolerance;  // empty: as the safety of what changed the module says
  int threads = 1;                     // that share the seeds; 0: one for each processor
};

// Runs `module`, which must be Runnable() (tool_support.h), once within the limits of `options`, on
// as many devices as it wants; results by device.
absl::StatusOr<std::vector<Literal>> RunOnInterpreter(const Module& module, uint64_t seed,
                                                      const std::vector<Literal>& arguments,
                                                      const EquivalenceOptions& options = {});

// Joins what the devices have of the results of what spmd-partitioner made: each device gets the
// whole. `before`: the results of the module before, by device. Other modules' stay.
absl::Status JoinIfPartitioned(const Module& module, const std::vector<Literal>& before,
                               std::vector<Literal>& results);

class ReferenceRuns {
 public:
  // Runs `module` for each seed. What the interpreter cannot run is an error.
  static absl::StatusOr<ReferenceRuns> Make(const Module& module,
                                            const EquivalenceOptions& options);

  // Runs `module`, which is the last one changed by something of this safety, on the same inputs.
  // Empty when the results agree; else a line that says the seed, the output, the index, the
  // values. A module that cannot be run or takes other arguments is an error.
  absl::StatusOr<std::string> Compare(const Module& module, RuleSafety safety) const;
  // The same; when the results agree, later ones are compared with those of `module`.
  absl::StatusOr<std::string> CompareAndMoveOn(const Module& module, RuleSafety safety);
  // How many of the values that are compared are NaN, which hides differences; and how many there
  // are.
  std::pair<int64_t, int64_t> CountNans() const;

 private:
  struct SeedRun {
    uint64_t seed = 0;
    std::vector<Literal> arguments;
    std::vector<Literal> results;  // by device
  };
  absl::StatusOr<std::string> CompareRuns(const Module& module, RuleSafety safety,
                                          std::vector<SeedRun>& now) const;

  EquivalenceOptions options_;
  std::vector<SeedRun> runs_;
  std::vector<ElementType> types_;  // of the outputs (rounded_types.h)
};

// How much the results of these passes may change in all.
RuleSafety SafetyOf(const Pipeline& pipeline);

// The first rewrite of a pass that changes results.
struct BadRewrite {
  int64_t number = 0;  // from 1
  int64_t total = 0;
  std::string rule;  // empty when the pass does not count its rules
};

// Runs the pass on copies of `before`, each time with fewer rewrites, to find the one to blame.
// Nothing when the pass does not ask before it rewrites, or the search finds none.
std::optional<BadRewrite> FindBadRewrite(const PipelineItem& pass, const Module& before,
                                         const ReferenceRuns& runs, RuleSafety safety);

}  // namespace hlo
