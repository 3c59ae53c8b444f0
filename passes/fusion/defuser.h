// Takes fusions apart.
//
//   f { p = f32[4] parameter(0)  n = f32[4] negate(p)  ROOT e = f32[4] exponential(n) }
//   r = f32[4] fusion(x), kind=kLoop, calls=f      =>   n = f32[4] negate(x)
//                                                       r = f32[4] exponential(n)
//
// Fusions of several outputs leave a tuple, which `tuple-simplifier` removes. The root takes over
// the control edges of the fusion. With `target`, the name of a platform, fusions that its kernels
// take (fusion_target.h) stay, once fusions inside them are gone.
//
// Requires: nothing.  Ensures: no fusion is left, or none that `target` does not take; no
// computation that only fusions called. Leaves alone: fusions that run asynchronously.
#pragma once

#include "passes/fusion/fusion_target.h"
#include "passes/util/option_words.h"

namespace hlo {

struct DefuserOptions {
  Checked<CheckFusionTarget> target;  // empty: all fusions go
  static auto Fields() { return std::tuple{Optional("target", &DefuserOptions::target)}; }
};

class Defuser final : public WithOptions<Pass, DefuserOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
