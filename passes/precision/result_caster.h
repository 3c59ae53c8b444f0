// Lets dots and convolutions whose result is narrower than what their operands give compute
// in the wider type.
//
//   d = bf16[4,3] dot(f32[4,5] x, f32[5,3] y)      =>   d = bf16[4,3] convert(f32[4,3] dot(x, y))
//
// So do those of floats with an integer result, of complex numbers with a real one, and of integers
// with a pred one:
//
//   d = s32[4,3] dot(f32[4,5] x, f32[5,3] y)       =>   d = s32[4,3] convert(f32[4,3] dot(x, y))
//
// With `other_kinds_only` these are the only ones. With `leave_library_products` matrix products
// stay that NVIDIA's libraries take as they are.
//
// Requires: nothing.  Ensures: outside fusion bodies, no result has a type that loses against what
// its operands give (see operand_upcaster.h). Floats are rounded twice then.
#pragma once

#include "lib/ops/opcode_groups.h"
#include "passes/expander.h"

namespace hlo {

struct ResultCasterOptions {
  bool other_kinds_only = false;
  bool leave_library_products = false;

  HLO_OPTIONS(ResultCasterOptions, other_kinds_only, leave_library_products)
};

class ResultCaster final : public WithOptions<ExpanderPass, ResultCasterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return kMatrixProducts; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
