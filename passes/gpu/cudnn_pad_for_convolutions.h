// Pads features of convolutions to sizes that tensor cores take.
//
//   c = (f16[10,20,30,40], u8[0]) custom-call(x, w), dim_labels=b01f_01io->b01f, …     x has 41 features
//     =>   p = pad(x, 0), padding=…x0_7           48 features
//          q = pad(w, 0), padding=…x0_7x0_0
//          c = (f16[10,20,30,40], u8[0]) custom-call(p, q), …
//   and where the result has more features, it is sliced.
//
//   f16 (compute capability 7.0 and more)   3 input features beside 32 or 64 output features to 4;
//                  else input and output features to multiples of 8, unless an array grows by more
//                  than 35 %
//   integers (forward, two spatial dimensions)   to multiples of 32 (7.5 and more, of results that
//                  are integers) or of 4 (6.1 and more), unless the input or the result doubles; how
//                  much the kernel grows does not count
//
// Where features lie in vectors already (NCHW_VECT_C: a last dimension that `dim_labels` does not
// name, in any of the arrays) the number of vectors is padded:
//
//   x = s8[2,11,4,4,4], dim_labels=bf01_…     44 features in vectors of 4; 16·4 = 64 of them
//
// Requires: calls of conv-rewriter, without workspaces. Ensures: nothing.
// Leaves alone: convolutions in groups; f16 with bias and activation; vectors that do not divide
// the multiple.
#pragma once

#include "passes/expander.h"
#include "passes/util/cuda_capability.h"

namespace hlo {

struct CudnnPadForConvolutionsOptions {
  CudaCapability compute_capability;

  HLO_OPTIONS(CudnnPadForConvolutionsOptions, compute_capability)
};

class CudnnPadForConvolutions final
    : public WithOptions<ExpanderPass, CudnnPadForConvolutionsOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kExceptSpecials;  // 0 times infinity

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;
};

}  // namespace hlo
