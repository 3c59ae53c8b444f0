// Writes rng-bit-generator as arithmetic on integers.
//
//   r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
//     =>   r = (u64[2], u32[4]) call(s), to_apply=xla.rng_three_fry_u64_2__u32_4
//
// The called computation draws the bits from the key and the counter in the state and returns the
// counter after them, bit for bit as lib/eval/random_bits.h describes; a philox state of two words
// is both key and counter.
//
// `default_algorithm` (philox, three_fry) stands for rng_default: three_fry, as in XLA's hlo-opt.
// Platforms, ours and XLA's, take philox.
//
// Requires: nothing.  Ensures: no rng-bit-generator outside fusion bodies, but with states that the
// algorithm does not take (the error is that of running it), of pred, complex, or six-bit elements,
// or without a state in the result.
#pragma once

#include "passes/expand/outlining_expander.h"

namespace hlo {

struct RngBitGeneratorExpanderOptions {
  RngAlgorithm default_algorithm = RngAlgorithm::kThreeFry;

  HLO_OPTIONS(RngBitGeneratorExpanderOptions, default_algorithm)
};

class RngBitGeneratorExpander final
    : public WithOptions<OutliningExpander, RngBitGeneratorExpanderOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  Opcode Root() const override { return Opcode::kRngBitGenerator; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& generator) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& generator,
                                     const std::vector<Instruction*>& operands,
                                     Builder& builder) const override;

 private:
  RngAlgorithm AlgorithmOf(const Instruction& generator) const;
};

// The option text of an algorithm.
absl::Status ParseOption(const OptionText& text, RngAlgorithm& out);
std::string OptionValue(RngAlgorithm algorithm);
std::string OptionType(RngAlgorithm algorithm);

}  // namespace hlo
