// Says in the way that passes know in which memory programs want values to lie.
//
//   y = f32[4] custom-call(x), custom_call_target="annotate_device_placement",
//         frontend_attributes={_xla_buffer_placement="pinned_host"}
//     =>   y = f32[4] custom-call(x), custom_call_target="MoveToHost"
//
//   pinned_host, unpinned_host     MoveToHost
//   device                         MoveToDevice
//   device_sram                    PinToDeviceSram
//   pinned_device                  PinToDevice
//
// The sharding stays; of what else the call says only where it comes from.
//
// Requires: nothing.  Ensures: no such call outside of fusion bodies.
// Errors: a value for the host that is not one.
// Leaves alone: other placements, which nobody knows; calls without one.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertMemoryPlacementToInternalAnnotations final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
