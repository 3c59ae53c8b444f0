// Moves collectives of a loop, and what is made of them, after it, where they are done for all
// iterations at once.
//
//   body: x = f(p); a' = dynamic-update-slice(a, reshape(all-reduce(x)), i)
//     =>   body: xs' = dynamic-update-slice(xs, reshape(x), i), xs starting with zeros
//          a = reshape(all-reduce(xs)) after the loop
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "passes/control_flow/pipelined_store.h"

namespace hlo {

// Requires computations of the loop that nobody else calls.
absl::Status SinkCollectives(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores);

}  // namespace hlo
