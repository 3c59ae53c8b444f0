// Writes scans as loops.
//
//   r = (f32[9,3], f32[3]) scan(x, init), dimensions={0}, num_carries=1, to_apply=f
//     =>   state (i, carry, x, stacked); as long as i < 9:
//          (y, carry) = f(dynamic-slice of x at i, carry);  stacked[i] = y
//
// The state holds the counter (s64), the carries, the inputs and the outputs, which start as zeros.
// The computation is inlined into the body. A scan that is reversed reads and writes from the end.
//
// Requires: nothing.  Ensures: no scan is left outside fusion bodies but those below.
// Leaves alone: dynamic shapes; computations whose parameters or results differ from what is
// passed in more than layouts (bf16 carried as f32).
#pragma once

#include "passes/expander.h"

namespace hlo {

class ScanExpander final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kScan}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* scan, Rewriter& rewriter) override;
};

}  // namespace hlo
