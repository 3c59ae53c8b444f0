// Renames instructions called `bar` to `hello`; see foo_to_bar.h.
//
//   bar = f32[] negate(x)      =>   hello = f32[] negate(x)
#pragma once

#include "passes/pass.h"

namespace hlo {

class BarToHello final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
