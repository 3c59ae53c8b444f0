// Writes the batching dimensions of gathers and scatters as indices.
//
//   gather(x, i), operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}
//     =>   gather(x, concatenate(iota, i)), collapsed_slice_dims={0,…}, start_index_map={0,1}
//
// Requires: nothing.  Ensures: no gather or scatter has batching dimensions outside of fusion
// bodies. Indices are then not known to be sorted any more.
// Leaves alone: dynamic indices. Indices whose type cannot count the batch become s32.
#pragma once

#include "passes/expander.h"

namespace hlo {

class BatchedGatherScatterNormalizer final : public ExpanderPass {
 protected:
  OpcodeSet Roots() const override { return {Opcode::kGather, Opcode::kScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) override;
};

}  // namespace hlo
