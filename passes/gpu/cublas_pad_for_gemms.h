// Pads matrix products to sizes that tensor cores take.
//
//   d = f16[2048,33] dot(f16[2048,1024] a, f16[1024,33] b), …
//       =>   p = f16[2048,1024] pad(a, 0), padding=0_0x0_0
//            q = f16[1024,40] pad(b, 0), padding=0_0x0_7
//            d = f16[2048,33] slice(f16[2048,40] dot(p, q)), slice={[0:2048], [0:33]}
//
// As XLA does it for NVIDIA GPUs: s8 to multiples of 4 and f16 to multiples of 8 from a
// `compute_capability` of 7.0 on, bf16 to multiples of 8 from 8.0 on.
//
// Options, beside that: `datatype`, only (and in any case) operands of this type;
// `pad_to_multiple_of`, another multiple than that of the table. A type that is not in the table
// wants both.
//
// Requires: dots in the form of `dot_decomposer`.  Ensures: of products as above, no size but those
// of batches stands in the way of tensor cores.
// Leaves alone: other forms, products of a matrix and a vector, dynamic shapes, result types that
// cuBLAS has not, operands of two types.
#pragma once

#include <optional>
#include <string>

#include "passes/expander.h"
#include "passes/util/cuda_capability.h"
#include "passes/util/option_ranges.h"

namespace hlo {

// The type of operands that is padded; none: all of the table.
struct PaddedType {
  std::optional<ElementType> type;
};
absl::Status ParseOption(const OptionText& text, PaddedType& out);
std::string OptionValue(PaddedType padded);
std::string OptionType(PaddedType);

struct CublasPadForGemmsOptions {
  CudaCapability compute_capability;
  PaddedType datatype;
  IntIn<0, 1 << 20> pad_to_multiple_of;  // 0: as the table says

  HLO_OPTIONS(CublasPadForGemmsOptions, compute_capability, datatype, pad_to_multiple_of)
};

class CublasPadForGemms final : public WithOptions<ExpanderPass, CublasPadForGemmsOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kExceptSpecials;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kDot}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* dot, Rewriter& rewriter) override;

 private:
  // The multiple for operands of this type; 0: none.
  int64_t MultipleFor(ElementType type) const;
};

}  // namespace hlo
