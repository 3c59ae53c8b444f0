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
//   s8 (forward, two spatial dimensions)    to multiples of 32 (7.5 and more) or of 4, unless an
//                  array doubles
//
// Requires: calls of conv-rewriter, without workspaces. Ensures: nothing.
// Leaves alone: convolutions in groups; f16 with bias and activation; vectorised layouts of s8.
#pragma once

#include <string>

#include "passes/expander.h"

namespace hlo {

struct CudnnPadForConvolutionsOptions {
  std::string compute_capability = "8.0";

  static auto Fields() {
    return std::tuple{
        Optional("compute_capability", &CudnnPadForConvolutionsOptions::compute_capability)};
  }
};

class CudnnPadForConvolutions final : public ExpanderPass {
 public:
  using Options = CudnnPadForConvolutionsOptions;
  static constexpr RuleSafety kSafety = kExceptSpecials;  // 0 times infinity
  explicit CudnnPadForConvolutions(Options options = {}) : options_(std::move(options)) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;

 private:
  Options options_;
};

}  // namespace hlo
