// Lets the kernels that read a loop compute it themselves: all of them, or none.
//
//   f = f32[n] fusion(x), kind=kLoop, calls={multiply}
//   a = f32[n] fusion(f, y), kind=kLoop, calls={add}
//   b = f32[n] negate(f)
//     =>   a = f32[n] fusion(x, y), kind=kLoop, calls={add(multiply)}
//          b = f32[n] fusion(x), kind=kLoop, calls={negate(multiply)}
//
// Done where the loop and its readers take as long as before or less, by a model of how long
// kernels take (performance_model.h, for the GPU of option `device`). Loops are visited from the
// first to the last; readers that are no fusions become one, kInput where warps reduce, transpose
// through shared memory or scatter.
//
// Requires: nothing. Ensures: what was merged is gone.
// Leaves alone: loops of several outputs, or whose result is the computation's; readers that are no
// kernels, bitcasts among them; reductions that would read what is mostly transposed; loops that
// end with a reduction, but what follows it in place; what an update in place still reads
// (in_place_update.h) and what a scatter does; kernels that would have too many operands
// (shared_kernels.h) or would be emitted as too many instructions; control edges and shardings;
// computations that run per element.
#pragma once

#include "passes/gpu/gpu_device.h"
#include "passes/util/option_words.h"

namespace hlo {

struct FusionMergerOptions {
  Checked<CheckGpuDevice> device{"h100_sxm"};

  HLO_OPTIONS(FusionMergerOptions, device)
};

class FusionMerger final : public WithOptions<Pass, FusionMergerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
