// Lets results that are parameters, untouched, share their buffers with them.
//
//   ROOT t = (f32[4], f32[4]) tuple(p0, sum)
//       =>   input_output_alias={ {0}: (0, {}, may-alias) }
//
// Requires: before `copy-insertion`, which else copies them.  Changes nothing but the module's
// configuration.  Leaves alone: roots that are no tuple, results inside tuples, results and
// parameters with an alias; of several results that are one parameter, all but the first.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AliasPassthroughParams final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
