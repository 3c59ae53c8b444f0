// Takes copies to other layouts off what programs keep in the memory of the host, where only whole
// arrays and slices are moved.
//
//   h = f32[4,8]{1,0} custom-call(x), "MoveToHost"
//   c = f32[4,8]{0,1} copy(h)
//   d = f32[4,8]{0,1} custom-call(c), "MoveToDevice"
//     =>   d = f32[4,8]{1,0} custom-call(h), "MoveToDevice"     c = f32[4,8]{0,1} copy(d)
//
// From each MoveToHost, and each parameter with entry layout S(5), arrays are followed through
// tuples, loops, barriers, bitcasts and updates; where an update writes them, from the broadcast on
// that it writes into. Copies on the way go after MoveToDevice, of slices as well, whose
// annotation then comes right after them; what updates such an array is copied before it is moved.
// Where the program returns the array from the host, and no copy can come later, it comes before
// MoveToHost. A loop that returns to itself MoveToDevice of its own element keeps that with the
// host.
//
// Requires: layouts.  Ensures: nothing. Run `host-offloader` after.
// Leaves alone: copies between memories, copies whose path leads through calls, branches,
// reshapes, computations of the host or tiled bitcasts, or where a loop is given something else,
// too; all copies of an array of which a slice is not moved to the device.
#pragma once

#include "passes/pass.h"

namespace hlo {

class HostOffloadLegalize final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
