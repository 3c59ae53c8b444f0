// Sorts the dimensions of broadcasts.
//
//   b = f32[5,3,4] broadcast(f32[4,5] x), dimensions={2,0}
//       =>   t = f32[4,3,5] broadcast(x), dimensions={0,2};   b = f32[5,3,4] transpose(t), dimensions={2,1,0}
//
// Ensures: `dimensions` of every broadcast outside fusion bodies are ascending.  Leaves
// alone: dynamic shapes.
#pragma once

#include "passes/expander.h"

namespace hlo {

class BroadcastCanonicalizer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kBroadcast}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* broadcast, Rewriter& rewriter) override;
};

}  // namespace hlo
