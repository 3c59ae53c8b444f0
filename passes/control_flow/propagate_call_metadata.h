// Puts the names of calls in front of those of what they run, and their stack frames below: a
// profile then says of each operation by which way the program came to it.
//
//   call(x), to_apply=f, metadata={op_name="outer"}       f { add(p, p), metadata={op_name="add"} }
//     =>                                                  f { add(p, p), metadata={op_name="outer/add"} }
//
// Loops, branches and asynchronous operations of what is called get the name as well
// (passes/util/call_metadata.h). Where several calls run one function, each puts its name in front
// of what the one before has made.
//
// Requires: nothing; late, when calls that are to be inlined are.
// Leaves alone: fusions and regions; what loops run that are in no called function.
#pragma once

#include "passes/pass.h"

namespace hlo {

class PropagateCallMetadata final : public Pass {
 public:
  static constexpr AnalysisSet kPreserves = AnalysisSet::All();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
