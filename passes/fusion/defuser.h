// Takes fusions apart.
//
//   f { p = f32[4] parameter(0)  n = f32[4] negate(p)  ROOT e = f32[4] exponential(n) }
//   r = f32[4] fusion(x), kind=kLoop, calls=f      =>   n = f32[4] negate(x)
//                                                       r = f32[4] exponential(n)
//
// Fusions of several outputs leave a tuple, which `tuple-simplifier` removes. The root takes over the
// control edges of the fusion.
//
// Requires: nothing.  Ensures: no fusion is left, no computation that only fusions called.
#pragma once

#include "passes/pass.h"

namespace hlo {

class Defuser final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
