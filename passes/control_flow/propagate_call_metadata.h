// Puts the names of calls and loops in front of those of what they run: a profile then says of each
// operation by which way the program came to it.
//
//   call(x), to_apply=f, metadata={op_name="outer"}       f { add(p, p), metadata={op_name="add"} }
//     =>                                                  f { add(p, p), metadata={op_name="outer/add"} }
//
// An operation without a name gets that of the call. Names that begin with the call's stay.
//
// Requires: nothing.  Leaves alone: fusions, regions, branches of conditionals; computations that
// several calls with different names run.
#pragma once

#include "passes/pass.h"

namespace hlo {

class PropagateCallMetadata final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
