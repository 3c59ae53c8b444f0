// Puts the contracted dimensions of dots in order.
//
//   dot(a, b), lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0}      =>   lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
//
// Neighbouring dimensions in order need no transposition to become one. Where the other operand has
// others between its own, it needs one anyway. Batch dimensions stay, the result has their order.
//
// Requires: nothing.  Ensures: contracted dimensions that are neighbours in one operand alone are
// sorted there; those that are in both are sorted in one of them at least.
// Leaves alone: dots of which one operand is in order and would not be then, layouts other than
// row-major, sparse operands, fusion bodies.
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
