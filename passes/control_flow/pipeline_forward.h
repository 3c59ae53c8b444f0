// Moves collectives of a loop, and what is made of them, to the next iteration, where they may
// overlap with all of its work.
//
//   body: x = f(p); a' = dynamic-update-slice(a, all-reduce(x), i)
//     =>   the first x before the loop;
//          body: a' = dynamic-update-slice(a, all-reduce(old x), old i); x = f(p)
//          the last all-reduce after the loop
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "passes/control_flow/pipelined_store.h"

namespace hlo {

// Requires computations of the loop that nobody else calls. `mark`: the collectives and the indices
// are marked as of level `level` + 1.
absl::Status PipelineForward(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores,
                             const PipelineLimits& limits, IterationCopier& copier);

}  // namespace hlo
