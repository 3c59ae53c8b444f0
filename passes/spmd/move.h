// From one placement of an array to another by collectives, as planned (move_plan.h).
#pragma once

#include "passes/spmd/move_plan.h"
#include "passes/spmd/spmd_code.h"

namespace hlo {

struct MoveWork {
  int64_t bytes = 0;  // that a device receives
  int64_t collectives = 0;
  void Add(const MoveWork& other) {
    bytes += other.bytes;
    collectives += other.collectives;
  }
};
// Where the regions of `to` do not have all tiles each, the array is made whole before it gets
// there.
MoveWork WorkOfMove(const Placement& from, const Placement& to, Shape whole);
inline int64_t MoveBytes(const Placement& from, const Placement& to, Shape whole) {
  return WorkOfMove(from, to, whole).bytes;
}
// `tile`, what a device has of an array of shape `whole`, placed as `to`.
Instruction* Move(SpmdCode& code, Instruction* tile, Shape whole, const Placement& from,
                  const Placement& to);

}  // namespace hlo
