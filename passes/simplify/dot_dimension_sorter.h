// Puts the contracted dimensions of dots in order.
//
//   dot(a, b), lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0}      =>   lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
//
// An operand whose contracted dimensions are neighbours needs no transposition once they are in
// order. They are put in order where that takes nothing away from the other operand: it has none
// that are neighbours, or they are not in order either; the left operand decides then. Batch
// dimensions stay, the result has their order.
//
// Requires: nothing.
// Leaves alone: operands that do not lie row by row, sparse operands, fusion bodies.
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
