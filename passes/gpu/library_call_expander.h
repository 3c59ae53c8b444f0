// Writes calls of NVIDIA's libraries as plain HLO.
//
//   c = (f32[4,8], s8[64]) custom-call(a, b), custom_call_target="__cublas$lt$matmul", …
//     =>   d = f32[4,8] dot(a, b), …
//          c = tuple(d, broadcast(0))
//
// So a module that was rewritten for a GPU runs everywhere, and can be compared with what it was
// made of. What calls mean is in library_calls.h; workspaces become zeros.
//
// Requires: nothing.  Ensures: no call of that table is left outside of fusions.
// Leaves alone: other custom calls. Calls that do not fit the table are located errors.
#pragma once

#include "passes/expander.h"

namespace hlo {

class LibraryCallExpander final : public ExpanderPass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;
};

}  // namespace hlo
