// Writes the custom call Eigh, eigenvectors and eigenvalues of Hermitian matrices, as loops.
//
//   e = (f32[6,6], f32[6]) custom-call(a), custom_call_target="Eigh", backend_config="1,1,100,1e-6"
//       =>   e = (f32[6,6], f32[6]) call(a), to_apply=xla.eigh_f32_6_6_lower_sorted_100_1e-06
//
// backend_config: whether the lower triangle is read (else the upper one), whether eigenvalues are
// sorted, how many sweeps at most, and how small the rest off the diagonal is to be, compared with
// the whole matrix.
//
// By Jacobi rotations: half of the rows are paired with the other half, all pairs are rotated at
// once so that the elements between them vanish, then the rows meet others as in a round-robin
// tournament; a sweep has all pairs. A matrix of an odd size is padded with zeros, which no
// rotation touches.
//
// Requires: nothing.  Ensures: no such call outside fusion bodies, of f32, f64, c64, c128 and
// static shapes.  Eigenvectors have the phases that XLA's have, a library's may have others.
// Leaves alone: configurations that are not these four numbers.
#pragma once

#include "passes/expand/outlining_expander.h"

namespace hlo {

class EighExpander final : public OutliningExpander {
 public:
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  Opcode Root() const override { return Opcode::kCustomCall; }
  bool Matches(const Instruction& instruction) const override;
  std::string Name(const Instruction& call) const override;
  absl::StatusOr<Instruction*> Build(const Instruction& call,
                                     const std::vector<Instruction*>& operands,
                                     Builder& builder) const override;
};

}  // namespace hlo
