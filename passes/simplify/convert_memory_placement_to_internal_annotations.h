// Says to passes in which memory the program wants values to lie.
//
//   y = f32[4] custom-call(x), custom_call_target="annotate_device_placement",
//           frontend_attributes={_xla_buffer_placement="pinned_host"}
//     =>   y = f32[4] custom-call(x), custom_call_target="MoveToHost"
//
//   pinned_host, unpinned_host     MoveToHost
//   device                         MoveToDevice
//   device_sram                    PinToDeviceSram
//   pinned_device                  PinToDevice
//
// Shardings stay.
//
// Requires: nothing.  Leaves alone: calls without the attribute or with another value, with control
// edges, of other than one operand of the shape of the result; fusion bodies.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ConvertMemoryPlacementToInternalAnnotations final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<CallGraph>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
