// Makes fusions that a library computes as a whole: around products, convolutions, reductions and
// functions of elements, with what else the library computes beside them.
//
//   e = f32[64,1000] exponential(x)
//   r = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum
//     =>   r = f32[64] fusion(x), kind=kCustom, calls={ reduce(exponential(x), 0) },
//          backend_config={"outer_dimension_partitions":[],"fusion_config":{"kind":"__ynn_fusion"}}
//
// A fusion begins with one operation. It grows breadth first: upwards by operands that it alone
// reads, downwards by the only reader of its result, and by fusions for the same library next to
// it, however large, as long as it has fewer than 100 instructions, parameters included. Then it is
// looked at anew, because what was read in two places may be read in one by now. The operations are
// tried from the result of the computation on, functions of elements after all others.
//
// Options, with the names of XLA's flags and the values that they have in jaxlib 0.10.2, which
// makes one fusion of each product and each convolution, and lets those of reductions grow:
//
//   xla_cpu_experimental_ynn_fusion_type      for YNNPACK: a list of `dot`, `eltwise`, `reduce`,
//   xla_cpu_experimental_onednn_fusion_type   `individual_dot`, `individual_convolution`; oneDNN
//   xla_cpu_use_onednn                        comes first where both take an operation
//   avx512_bf16, avx512_fp16                  oneDNN computes these types; YNNPACK asks for nothing
//
// What each library takes is in cpu_libraries.h.
//
// Requires: layouts and canonical dots (dot_decomposer).  Ensures: fusions have one result.
// Leaves alone: what has control edges; what nobody reads; computations that run per element;
// fusions that are there and not for this library. The result of a computation is never computed
// within a fusion of a reader, and a fusion that is it does not grow downwards (XLA would lose it
// there). XLA fails on dots that are no products of matrices; here they stay.
#pragma once

#include "passes/cpu/library_fusion_types.h"
#include "passes/pass.h"

namespace hlo {

struct DotLibraryRewriterOptions {
  LibraryFusionTypes ynn_fusion_type = {LibraryFusionType::kIndividualConvolution,
                                        LibraryFusionType::kIndividualDot,
                                        LibraryFusionType::kReduce};
  bool use_onednn = false;
  LibraryFusionTypes onednn_fusion_type;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;

  static auto Fields() {
    using O = DotLibraryRewriterOptions;
    return std::tuple{Optional("xla_cpu_experimental_ynn_fusion_type", &O::ynn_fusion_type),
                      Optional("xla_cpu_use_onednn", &O::use_onednn),
                      Optional("xla_cpu_experimental_onednn_fusion_type", &O::onednn_fusion_type),
                      Optional("avx512_bf16", &O::avx512_bf16),
                      Optional("avx512_fp16", &O::avx512_fp16)};
  }
};

class DotLibraryRewriter final : public WithOptions<Pass, DotLibraryRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  // Libraries add in an order of their own.
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
