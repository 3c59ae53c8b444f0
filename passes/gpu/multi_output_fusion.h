// Makes one kernel of several outputs of kernels that read the same array, or one of which reads
// the other, as XLA's pass of this name does for GPUs. With `platform=cpu`, what it does for CPUs
// under another name (passes/cpu/cpu_multi_output_fusion.h), with its option `max_operands`,
// which is an error for GPUs: what fits in a kernel is known. For GPUs:
//
//   a = f32[n] fusion(x), kind=kLoop, calls={negate}
//   b = f32[m] fusion(x), kind=kInput, calls={reduce}
//     =>   f = (f32[n], f32[m]) fusion(x), kind=kInput, calls={tuple(negate, reduce)}
//          a = get-tuple-element(f), index=0     b = get-tuple-element(f), index=1
//
//   p = f32[n] exponential(x)      read by others, too
//   c = f32[n] fusion(p, y), kind=kLoop, calls={add}
//     =>   f = (f32[n], f32[n]) fusion(y, x), kind=kLoop, calls={tuple(add(exponential), exponential)}
//
// Values are visited from the last to the first: first their readers are put together, then the
// value joins one of them. Kernels of several outputs come before fusions, fusions before
// instructions, which alone do not take in anything. A value joins a reader where both as one
// kernel are no slower, by a model of how long kernels take (performance_model.h, for the GPU of
// option `device`).
//
// Requires: producers that their only reader can compute are there already (fusion_merger).
// Ensures: nothing. Leaves alone (GPU): readers of one element; kernels that walk over memory in
// other ways, as a reduction of columns and a loop that read the same; readers that need each
// other; large arrays of which each reads another slice; updates in place; producers that
// transpose; kernels that would have too many operands, reductions or too little shared memory, or
// would be emitted as too many instructions; control edges and shardings; reductions of several
// arrays; computations that run per element.
#pragma once

#include "passes/gpu/gpu_device.h"
#include "passes/util/option_ranges.h"
#include "passes/util/option_words.h"

namespace hlo {

struct MultiOutputFusionOptions {
  OneOf<"gpu", "cpu"> platform;
  IntIn<0> max_operands;  // of loops that become one on a CPU; 0: 20
  Checked<CheckGpuDevice> device{"h100_sxm"};

  HLO_OPTIONS(MultiOutputFusionOptions, platform, max_operands, device)
};

class MultiOutputFusion final : public WithOptions<Pass, MultiOutputFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
