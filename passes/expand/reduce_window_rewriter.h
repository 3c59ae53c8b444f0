// Writes long cumulative reductions as short ones of parts.
//
//   r = f32[64] reduce-window(x, 0), window={size=64 pad=63_0}, to_apply=add      // x[0] + … + x[i]
//     =>   p = f32[4,16] reduce-window(reshape(x), 0), window={size=1x16 pad=0_0x15_0}, to_apply=add
//          s = f32[5] reduce-window(p[:, 15], 0), window={size=4 pad=4_0}, to_apply=add
//          r = reshape(map(p, broadcast(s[0:4])), to_apply=add)
//
// Parts have `base_length` elements (below 2: nothing is done). Windows from the end, too, those of
// several arrays at once (each result has a `map` of its own), and exclusive ones, whose first
// value is that of no element. Windows over arrays of one dimension become windows over two, the
// second of size 1.
//
// Requires: nothing.  Ensures: no cumulative reduce-window along more than `base_length` elements,
// but of dynamic shapes and in fusion bodies.
// Leaves alone, unless `assume_associative` (as in XLA): computations that do not make each result
// by one commutative operation of its own two values, and initial values other than those that
// change nothing. Floats are added in another order.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct ReduceWindowRewriterOptions {
  int64_t base_length = 16;
  bool assume_associative = false;

  HLO_OPTIONS(ReduceWindowRewriterOptions, base_length, assume_associative)
};

class ReduceWindowRewriter final : public WithOptions<ExpanderPass, ReduceWindowRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduceWindow}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce_window, Rewriter& rewriter) override;

 private:
  bool IsLongScan(const Instruction& instruction) const;
};

}  // namespace hlo
