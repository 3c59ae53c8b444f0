// Lets the kernel of GPUs find the few largest elements of long rows.
//
//   t = (f32[8,4], s32[8,4]) custom-call(f32[8,4096] x), custom_call_target="TopK", called_computations={greater}
//       =>   t = (f32[8,4], s32[8,4]) custom-call(x), custom_call_target="__gpu$TopK", called_computations={greater},
//                api_version=API_VERSION_TYPED_FFI
//
// Requires: nothing.  Ensures: such calls of f32 and bf16, of rank 1 and 2, with rows of at least
// 1024 elements of which at most 16 are wanted, are calls of the kernel.
// Leaves alone: other sizes and types, calls that ask for the smallest elements. Equal elements
// stand in order, as some calls ask for.
#pragma once

#include "passes/expander.h"

namespace hlo {

class TopkSpecializer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* topk, Rewriter& rewriter) override;
};

}  // namespace hlo
