// Puts the elementwise operations after a product into its kernel.
//
//   d = bf16[m,n] dot(x, w)
//   b = bf16[m,n] broadcast(bias)
//   s = bf16[m,n] add(d, b)            =>   r = bf16[m,n] fusion(x, w, bias), kind=kOutput,
//   r = bf16[m,n] maximum(s, zeros)                       calls={ maximum(add(dot(x, w), …), …) }
//
// From each dot, scaled-dot and convolution on, elementwise operations on arrays of its dimensions
// join it as long as one value alone leaves the group: bias, scale, activation, residual, convert.
// Broadcasts, scalars and small operands are computed inside. The kernel applies them to
// each result before it is stored (backends/gpu/emit/families/epilogue.h), so the product itself is
// never in memory.
//
// Left alone: products whose value is used elsewhere, too; operations with side effects or control
// edges; more than `max_instructions` of them, or more than `max_costly` such as tanh, whose code
// is there once for each of a thread's results; with `leave_to_library`, products that cuBLAS
// computes so much faster that what follows may read memory again (library_products.h). Ensures:
// fusions have one root, an array.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct GpuEpilogueFusionOptions {
  int64_t max_instructions = 32;
  int64_t max_costly = 4;
  bool leave_to_library = false;
  HLO_OPTIONS(GpuEpilogueFusionOptions, max_instructions, max_costly, leave_to_library)
};

class GpuEpilogueFusion final : public WithOptions<Pass, GpuEpilogueFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
