// Groups instructions into `fusion` instructions that become one kernel each, of the platform that
// the name of the pass says: cpu-fusion, gpu-fusion.
//
//   e = f32[n] exponential(x)
//   y = f32[n] multiply(e, s)        =>   y = f32[n] fusion(x, s), kind=kLoop, calls={ … }
//
// An instruction joins the kernel of its users when all of them are in one kernel, so nothing is
// computed twice and no cycle can arise. An elementwise one that several elementwise kernels of its
// shape read, or one and something else, joins them all, as one kernel of several outputs, unless
// that kernel would need its own results. So do reductions of one array over the same dimensions to
// more than one element (cpu). Broadcasts, iotas, slices and scalar constants are copied
// into every kernel that reads them. A reduction is the root of its kernel (its inputs are fused
// into it), or stands inside one whose rows are what it reduces: softmax and normalisations are one
// kernel, which stores what others read of it, too (gpu). Simple operations on one array, upcasts
// above all, are copied where several kernels read them (gpu). A roll of an array in memory
// (rolls.h) is computed in kernels of one loop that read it, in place or by slices, where that cuts
// the loop a few times only (cpu). Vectors of indices that gathers read are not made: each index is
// computed where it is used. Left alone: what no kernel computes
// (kernel_support.h), transposes of large arrays (a kernel of their own moves them through
// registers), anything with a side effect or control edges.
//
// Requires: calls inlined. Ensures: parameters of fusions are arrays; the platform takes the
// fusions that were made (fusion_target.h).
#pragma once

#include "passes/fusion/fusion_target.h"
#include "passes/pass.h"

namespace hlo {

struct KernelFusionOptions {
  int64_t max_instructions = 240;  // of a kernel of one loop; half of it where indices are computed
  HLO_OPTIONS(KernelFusionOptions, max_instructions)
};

class KernelFusion final : public WithOptions<Pass, KernelFusionOptions> {
 public:
  using WithOptions::WithOptions;
  void set_target(const FusionTarget& target) { target_ = &target; }
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  const FusionTarget* target_ = nullptr;
};

}  // namespace hlo
