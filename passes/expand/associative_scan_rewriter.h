// Writes scans that may combine their elements in any order as cumulative windows.
//
//   w = (f32[64], f32[]) scan(x, 0), num_carries=1, is_associative=true, to_apply=f
//     =>   r = f32[64] reduce-window(x, 0), window={size=64 pad=63_0}, to_apply=f_rw_wrapper
//          w = tuple(r, 0)
//
// where f_rw_wrapper(carry, input) is the carry that f(input, carry) returns. Scans of more than
// `base_length` elements become windows over parts, as reduce-window-rewriter has them; 0: one
// window for all lengths, 1: nothing is done. Of computations of arrays, element by element, there
// is one of scalars, `f_scalarized`.
//
// Requires: nothing.  Ensures: of scans of one array with one carry, which nobody reads, those are
// left that do not say is_associative=true, and those below.
// Leaves alone: scans from the end; computations that return another value than the new carry;
// initial values that are not the same everywhere; in parts, those that would count several times.
// Floats are added in another order.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct AssociativeScanRewriterOptions {
  int64_t base_length = 16;

  HLO_OPTIONS(AssociativeScanRewriterOptions, base_length)
};

class AssociativeScanRewriter final
    : public WithOptions<ExpanderPass, AssociativeScanRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kScan}; }
  bool Matches(const Instruction& scan) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* scan, Rewriter& rewriter) override;

 private:
  bool IsInParts(const Instruction& scan) const;
};

}  // namespace hlo
