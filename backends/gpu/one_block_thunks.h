// backends/gpu/one_block_thunks.h
//
// Launches that cost more than what they launch become one (emit/core/one_block.h): neighbours of
// one block each, and loops whose steps have few blocks. A loop of 20,000 small steps is one launch
// then, not 100,000 and as many looks at its predicate.
#pragma once

#include <map>

#include "absl/status/statusor.h"
#include "backends/common/thunk.h"
#include "backends/gpu/emit/core/one_block.h"
#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/program.h"
#include "lib/ir/instruction.h"

namespace hlo::gpu {

class OneBlockMerger final {
 public:
  // Adds kernels to the program; those that nothing launches any more stay until DropUnusedKernels.
  explicit OneBlockMerger(Program& program) : program_(program) {}

  // Neighbours in the list.
  absl::Status MergeRuns(ThunkList& thunks);
  // Appends thunks for a loop of these, if it is a small one; else takes nothing.
  absl::StatusOr<bool> MergeLoop(const Instruction& loop, ThunkList& condition,
                                 const BufferSlice& predicate, ThunkList& body, ThunkList& thunks);

 private:
  struct Candidate;
  struct Step;
  // Whether a thunk can be one of the steps: `most_threads` is how many the blocks of one of its
  // launches may have together, where they are several.
  bool Append(const Thunk& thunk, int64_t most_threads, Candidate& candidate);
  bool AppendLaunch(const GpuKernelThunk& thunk, const GpuKernelThunk::Step& step,
                    int64_t most_threads, Candidate& candidate);
  const BlockFacts& FactsOfKernel(int kernel);
  absl::StatusOr<std::unique_ptr<Thunk>> Make(const Candidate& candidate, std::string_view name,
                                              std::string_view family, int64_t trips,
                                              const BufferSlice* go_on);

  Program& program_;
  std::map<int, BlockFacts> facts_;  // by number in the program
  size_t bytes_ = 0;                 // of bitcode in what was merged
};

void DropUnusedKernels(Program& program);

}  // namespace hlo::gpu
