// Groups instructions into `fusion` instructions that become one kernel each on the CPU.
//
//   e = f32[n] exponential(x)
//   y = f32[n] multiply(e, s)        =>   y = f32[n] fusion(x, s), kind=kLoop, calls={ … }
//
// An instruction joins the kernel of its users when all of them are in one kernel, so nothing is
// computed twice and no cycle can arise. An elementwise one that several elementwise kernels of its
// shape read, or one and something else, joins them all, as one kernel of several outputs, unless
// that kernel would need its own results. So do reductions of one array over the same dimensions to
// more than one element. Broadcasts, iotas, slices and scalar constants are copied
// into every kernel that reads them. A reduction is the root of its kernel (its inputs are fused
// into it), or stands inside one whose rows are what it reduces: softmax and normalisations are one
// kernel. Left alone: what no kernel family computes (passes/cpu/fusible.h), transposes of large
// arrays (a kernel of their own moves them through registers), anything with a side effect or
// control edges. Requires: calls inlined. Ensures: parameters of fusions are arrays.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct CpuFusionOptions {
  int64_t max_instructions = 120;  // of one kernel
  bool fuse_rows = true;           // reductions of rows into the kernels that use them
  bool several_outputs = true;     // of elementwise kernels, and of reductions
  static auto Fields() {
    using O = CpuFusionOptions;
    return std::tuple{Optional("max_instructions", &O::max_instructions),
                      Optional("fuse_rows", &O::fuse_rows),
                      Optional("several_outputs", &O::several_outputs)};
  }
};

class CpuFusion final : public Pass {
 public:
  using Options = CpuFusionOptions;
  explicit CpuFusion(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo
