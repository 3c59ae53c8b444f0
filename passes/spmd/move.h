// From one placement of an array to another, by the cheapest collectives: what all have is sliced;
// tiles that the other placement holds together are gathered; a dimension that is given up for
// another one is exchanged (all-to-all); the same tiles on other devices are sent
// (collective-permute). What is none of these is gathered along the dimensions that differ, and
// sliced.
#pragma once

#include <vector>

#include "passes/spmd/spmd_code.h"

namespace hlo {

struct MoveStep {
  enum class Kind { kSlice, kGather, kExchange, kSend };
  Kind kind;
  Placement after;
  int64_t dim = -1;        // gathered
  int64_t factor = 1;      // tiles that are gathered into one
  int64_t other_dim = -1;  // exchanged: the one that is sliced instead
};

// `from` is sound in the regions of `to`.
std::vector<MoveStep> PlanMove(const Placement& from, const Placement& to, Shape whole);
// Bytes that a device receives. Where the regions of `to` do not have all tiles each, the array is
// made whole before it gets there.
int64_t MoveBytes(const Placement& from, const Placement& to, Shape whole);
// `tile`, what a device has of an array of shape `whole`, placed as `to`.
Instruction* Move(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                  const Placement& to);

}  // namespace hlo
