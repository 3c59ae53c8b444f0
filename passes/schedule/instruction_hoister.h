// Moves parameters and constants to the beginning of schedules, so that they can be fetched early.
//
//   x = f32[4] parameter(0)            c = f32[] constant(2)
//   n = f32[4] negate(x)         =>    x = f32[4] parameter(0)
//   y = f32[4] parameter(1)            y = f32[4] parameter(1)
//   c = f32[] constant(2)              n = f32[4] negate(x)
//
// `hoist_parameters`: where an operation stands before a parameter, parameters come first, by
// number, and lose their control edges, which say nothing then. `hoist_constants`: constants come
// before all else, in their order. `hoist_bitcasts`, `hoist_gtes`: bitcasts and get-tuple-elements
// directly follow what they read.
//
// Without a schedule nothing happens; a remark says so.
// Leaves alone: computations whose parameters come before all but tuples, get-tuple-elements,
// bitcasts and constants; constants of computations where one of them has control edges; bitcasts
// and get-tuple-elements with control predecessors; bodies of fusions and of composite operations.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct InstructionHoisterOptions {
  bool hoist_parameters = true;
  bool hoist_constants = true;
  bool hoist_bitcasts = false;
  bool hoist_gtes = false;

  HLO_OPTIONS(InstructionHoisterOptions, hoist_parameters, hoist_constants, hoist_bitcasts,
              hoist_gtes)
};

class InstructionHoister final : public WithOptions<Pass, InstructionHoisterOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
