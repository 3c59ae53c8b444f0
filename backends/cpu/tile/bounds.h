// backends/cpu/tile/bounds.h
//
// Proves, where it can, that accesses of a kernel stay inside their buffers: every index is
// taken as a sum of constants times symbols, and symbols (loop indices, quotients,
// remainders, minima, values read from memory) are replaced one by one by what bounds them,
// until only a number is left.
#pragma once

#include <vector>

#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

enum class AccessProof : uint8_t {
  kNoAccess,  // the node is no load or store
  kInside,    // every lane that is on is inside, whenever the access happens
  kUnknown,   // not found out
  kOutside,   // no lane can be inside, and the access surely happens
};

// By node; for runs of tasks in [0, task_count).
std::vector<AccessProof> ProveAccesses(const Kernel& kernel, int64_t task_count);

}  // namespace hlo::cpu::tile
