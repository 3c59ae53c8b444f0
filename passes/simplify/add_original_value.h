// Says of each value which value of this module it is, so that it can still be told when passes are
// done with it.
//
//   y = f32[4] negate(x)      =>   y = f32[4] negate(x), origin={{"y"}}
//
// Elements of tuples that are only put together or taken out are named after what made them.
//
// Requires: nothing.  Ensures: every instruction outside of fusion bodies has an origin.
// Leaves alone: what has an origin already.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AddOriginalValue final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
