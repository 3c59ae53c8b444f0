// The cheapest way from one placement of an array to another, in steps: what all have is sliced;
// tiles that the other placement holds together are gathered; a dimension that is given up for
// another one is exchanged (all-to-all); the same tiles on other devices are sent
// (collective-permute).
//
// Two plans are made. One looks at each dimension: where tiles lie inside of others on the same
// devices they are sliced or gathered, else the dimension is gathered as a whole. The other one
// looks at numbers of tiles only, and sends them to their devices once those are right.
#pragma once

#include <vector>

#include "passes/spmd/placement.h"

namespace hlo {

struct MoveStep {
  enum class Kind { kSlice, kGather, kExchange, kSend };
  Kind kind;
  Placement after;
  int64_t dim = -1;        // gathered
  int64_t factor = 1;      // tiles that are gathered into one
  int64_t other_dim = -1;  // exchanged: the one that is sliced instead
};

// Whether tiles of `fine` lie inside of tiles of `coarse` along `d`, on the same devices, and end
// where those end.
bool Refines(const Placement& fine, const Placement& coarse, Shape whole, int64_t d);

// `from` is sound in the regions of `to`.
std::vector<MoveStep> PlanMove(const Placement& from, const Placement& to, Shape whole);
// Bytes that a device receives.
int64_t BytesOf(const std::vector<MoveStep>& steps, Shape whole);

}  // namespace hlo
