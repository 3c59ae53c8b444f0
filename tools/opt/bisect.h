// hlo-opt --bisect=CMD: which pass, and which of its rewrites, makes a command fail.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "passes/pass_manager.h"

namespace hlo {

struct BisectResult {
  int64_t pass_number = 0;  // from 1; 0: the command fails on the input itself; -1: it never fails
  std::string pass;
  int64_t rewrite = 0;  // of that pass, from 1; 0: it has no rules, or not one rewrite is to blame
  std::string rule;     // with the instruction it rewrote
  int tests = 0;
  int64_t passes_run = 0;
};

// Runs `pipeline` on copies of the module that `load` makes, cut off after some pass, and asks
// `fails` about the result: halving finds the first pass after which it does, then the first of its
// rewrites. `fails` must not fail on results before some point and fail on all after it; otherwise
// some point is found at which its answer changes. Each try goes on from the last good module, a
// copy of which is kept; copies may number new names otherwise, so the place that is found is
// looked at once more from the start, and looked for without copies if it is not the same.
absl::StatusOr<BisectResult> Bisect(
    const Pipeline& pipeline, const Instrumentation& instrumentation,
    const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load,
    const std::function<absl::StatusOr<bool>(const Module&)>& fails);

}  // namespace hlo
