// backends/gpu/emit/core/one_block.h
//
// Kernels and copies in their order as one kernel of one block, once or in a loop: where each does
// little, launches cost more than what they launch. Every thread passes a barrier after each step,
// so that a step sees what the steps before it wrote, as it would see it of launches before it.
//
//   a kernel without barriers    its threads, several of its blocks at the same time
//   a kernel with barriers       its blocks one after the other; if it has fewer threads than the
//                                block, they meet at a barrier of their own
//
// This header includes no LLVM header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

// A place in the memory that a pointer of the kernel points to.
struct BlockPlace {
  int pointer = 0;
  int64_t offset = 0;  // bytes
};

struct BlockStep {
  // A kernel as bitcode (UniqueKernel), with what it is launched with; null: a copy of `bytes`
  // bytes from the first of `buffers` to the second.
  const std::string* bitcode = nullptr;
  LaunchDims dims;
  std::vector<BlockPlace> buffers;
  std::vector<int64_t> integers;
  int64_t bytes = 0;
};

// How often the steps are done.
struct BlockLoop {
  int64_t trips = 1;
  // If given, the loop goes on after a trip while this byte is not 0 and fewer trips than the
  // kernel's integer parameter were made; `trips` says nothing then.
  std::optional<BlockPlace> go_on;
};

// What deciding whether to take a kernel needs to know of it.
struct BlockFacts {
  bool fits = false;  // it can be a step
  bool has_barriers = false;
};
BlockFacts FactsOf(const std::string& bitcode);

// The kernel as bitcode: `pointers` pointers, then an integer if `loop` has `go_on`.
absl::StatusOr<std::string> EmitOneBlock(absl::Span<const BlockStep> steps, const BlockLoop& loop,
                                         int pointers, int threads);

}  // namespace hlo::gpu
