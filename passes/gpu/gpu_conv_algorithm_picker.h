// Gives convolutions of cuDNN the algorithms that an autotuner found to be the fastest, and the
// memory that these work in.
//
//   c = (f32[…], u8[0]) custom-call(x, w), custom_call_target="__cudnn$convForward", …
//     =>   c = (f32[…], u8[S]) custom-call(x, w), …, backend_config={…"algorithm":{"algo_id":"28",…}…}
//          t = tuple(get-tuple-element(c), index=0, u8[0] constant({}))
//
// Files, options and what is left alone are those of `gemm-algorithm-picker`.
//
// Requires: all else of convolutions has run. Ensures: nothing. Dead tuples are left.
#pragma once

#include "passes/gpu/algorithm_pickers.h"

namespace hlo {

class GpuConvAlgorithmPicker final : public WithOptions<Pass, AlgorithmPickerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
