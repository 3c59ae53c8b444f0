// Makes calls of what two markers enclose.
//
//   b = (f32[4]) custom-call(x), custom_call_target="__xla_internal_call_marker_before",
//           frontend_attributes={xla_call_marked_computation="f"}
//   n = f32[4] negate(gte(b, 0))
//   a = f32[4] custom-call(n), custom_call_target="__xla_internal_call_marker_after", …="f"
//       =>   a = f32[4] call(x), to_apply=f        f: negate(parameter)
//
// So a call can be inlined, optimized with what is around it, and taken out again. What lies on a
// way from the first marker to the second goes into the computation, and so does what is made of
// constants and iotas alone; other values that this reads become operands of the call. Values that
// are read outside as well are computed there, too. The second marker may have several operands for
// a tuple; what else is said of it is said of the call, which gets the name in
// `xla_call_marked_instruction_name`.
//
// Requires: nothing.  Ensures: no markers are left but those below.  Errors: a marker without the
// other one of its name.
// Leaves alone: pairs with control edges between them, and those that enclose side effects of which
// the results are read outside.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CallOutliner final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
