// Pads matrix products to sizes that tensor cores take.
//
//   d = f16[2048,33] dot(f16[2048,1024] a, f16[1024,33] b), …
//       =>   p = f16[2048,1024] pad(a, 0), padding=0_0x0_0
//            q = f16[1024,40] pad(b, 0), padding=0_0x0_7
//            d = f16[2048,33] slice(f16[2048,40] dot(p, q)), slice={[0:2048], [0:33]}
//
// Without options as XLA does it for NVIDIA GPUs since Ampere: s8 to multiples of 4, f16 and bf16
// to multiples of 8.
//
// Requires: dots in the form of `dot_decomposer`.  Ensures: of products as above, no size but those
// of batches stands in the way of tensor cores.
// Leaves alone: other forms, products of a matrix and a vector, dynamic shapes, result types that
// cuBLAS has not, operands of two types.
#pragma once

#include <string>

#include "passes/expander.h"

namespace hlo {

struct CublasPadForGemmsOptions {
  std::string datatype;  // empty: all of the table
  int64_t pad_to_multiple_of = 0;

  static auto Fields() {
    using O = CublasPadForGemmsOptions;
    return std::tuple{Optional("datatype", &O::datatype),
                      Optional("pad_to_multiple_of", &O::pad_to_multiple_of)};
  }
};

class CublasPadForGemms final : public ExpanderPass {
 public:
  using Options = CublasPadForGemmsOptions;
  static constexpr RuleSafety kSafety = kExceptSpecials;
  explicit CublasPadForGemms(Options options = {}) : options_(std::move(options)) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;

 private:
  // The multiple for operands of this type; 0: none.
  int64_t MultipleFor(ElementType type) const;

  Options options_;
};

}  // namespace hlo
