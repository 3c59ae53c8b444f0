// Which computations of a module run in which manual region.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "passes/sharding/manual_call.h"

namespace hlo {

// A computation that runs as a piece of the program, and where.
struct ShardyProgram {
  Computation* computation;
  ManualRegion region;
  std::vector<ManualCall> calls;  // of manual computations, in it
};

// From the entry on, callers first. Computations called from several regions are copied, manual
// ones for each call; `changed` tells whether that happened. Reducers and the like run in none.
absl::StatusOr<std::vector<ShardyProgram>> FindShardyPrograms(Module& module,
                                                              const ShardyMeshes& meshes,
                                                              bool& changed);

}  // namespace hlo
