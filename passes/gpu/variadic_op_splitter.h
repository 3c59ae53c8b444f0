// Splits concatenates of more than 128 arrays: kernels take so many parameters and no more.
//
//   c = f32[256] concatenate(x0, …, x255)
//       =>   a = f32[128] concatenate(x0, …, x127)
//            b = f32[128] concatenate(x128, …, x255)
//            c = f32[256] concatenate(a, b)
//
// What is left after whole groups of 128 goes into the next round as it is.
//
// Requires: nothing.  Ensures: outside fusions no concatenate has more than 128 operands.
#pragma once

#include "passes/expander.h"

namespace hlo {

class VariadicOpSplitter final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kConcatenate}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* concatenate, Rewriter& rewriter) override;
};

}  // namespace hlo
