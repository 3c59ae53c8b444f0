// Puts what programs move to the host into its memory, S(5) in layouts.
//
//   h = f32[8]{0} custom-call(x), custom_call_target="MoveToHost"
//   d = f32[8]{0} custom-call(h), custom_call_target="MoveToDevice"
//     =>   h = f32[8]{0:S(5)} copy(x)     d = f32[8]{0} copy(h)
//
//   b = f32[4,8]{1,0} broadcast(zero)                   y: custom-call(x), "MoveToHost"
//   u = f32[4,8]{1,0} dynamic-update-slice(b, y, i, z)
//     =>   b = f32[4,8]{1,0:S(5)} custom-call(), custom_call_target="AllocateBuffer"
//          u = f32[4,8]{1,0:S(5)} dynamic-update-slice(b, x, i, z)
//
// What lies between is followed through tuples, bitcasts, barriers, loops, calls, branches,
// asynchronous computations and custom calls that write over their operand, and so are parameters
// whose entry layout is S(5). A dynamic slice before MoveToDevice is the transfer itself; a slice
// becomes one. Results of the program that lie with the host get that layout. Other operations on
// such arrays get the attribute `_xla_compute_type="host"` and leave their result with the host;
// fusions, starts of slices, choices of branches and what runs asynchronously read a copy on the
// device. Results of computations that run on the host stay there if that is where the program
// returns them. In loops, an update by an array that shares memory with a parameter is copied
// first. Ends with `cse{layout_sensitive}`.
//
// Requires: layouts; nothing in S(5) but by entry layout: this pass alone says what lies there and
// forgets what others said.  Ensures: neither annotation is left in what runs on its own; layouts
// agree where values are passed on.
// Errors: an update of a host array that no broadcast or AllocateBuffer made; a result whose entry
// layout has tiles or element sizes, or which must share memory with a parameter, and is not S(5);
// a condition of a loop that computes on an array which is updated there.
// Leaves alone: annotations of tuples, and those in fusions and regions. Unlike XLA's: a buffer
// that begins with anything but zeros is copied, not allocated; an array of the host that updates
// one of the device is copied there; so are operands of fusions.
#pragma once

#include "passes/pass.h"

namespace hlo {

class HostOffloader final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
