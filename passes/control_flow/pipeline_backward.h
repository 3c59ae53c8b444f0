// Moves collectives of a loop, and what they are made of, to the iteration before, whose work they
// may overlap with.
//
//   body: g = all-gather(dynamic-slice(w, i)); … f(g)
//     =>   the all-gather of the first iteration before the loop;
//          body: … f(old g); g = all-gather(dynamic-slice(w, next i))
//          the last iteration, without an all-gather, after the loop
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "passes/control_flow/pipelined_loop.h"
#include "passes/pass.h"

namespace hlo {

// A collective that depends on nothing but the counter and what is the same in all iterations.
struct PipelinedGather {
  Instruction* collective;
  std::vector<Instruction*> chain;  // what it is made of, in the order of the body
};

std::vector<PipelinedGather> FindPipelinedGathers(const PipelinedLoop& loop,
                                                  const PipelineLimits& limits,
                                                  PassContext& context);

// Requires computations of the loop that nobody else calls.
absl::Status PipelineBackward(const PipelinedLoop& loop,
                              const std::vector<PipelinedGather>& gathers, IterationCopier& copier);

}  // namespace hlo
