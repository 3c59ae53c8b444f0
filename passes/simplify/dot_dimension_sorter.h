// Puts the contracted dimensions of dots in order.
//
//   dot(a, b), lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0}      =>   lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
//
// Where both operands list theirs in the same order, they may be sorted for both, and then need no
// transposition; batch dimensions stay, the result has their order.
//
// Requires: nothing.  Ensures: where the order of one operand sorts the other, both are sorted.
// Leaves alone: dots whose operands want different orders, sparse operands, fusion bodies.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class DotDimensionSorter final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
