// Makes fusions of what a program marks for cuDNN.
//
//   c = f32[8,8] custom-call(a, b), custom_call_target="__cudnn$fusion", called_computations={f}
//     =>   c = f32[8,8] fusion(a, b), kind=kCustom, calls=f.clone,
//              backend_config={…"fusion_backend_config":{"kind":"__cudnn$fusion"}…}
//
// What the call says in its own backend_config goes.
//
// Requires: nothing.  Ensures: no call of that name is left.
// Leaves alone: other calls. A call that does not fit its computation is a located error.
#pragma once

#include "passes/expander.h"

namespace hlo {

class CudnnCustomCallConverter final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* call, Rewriter& rewriter) override;
};

}  // namespace hlo
