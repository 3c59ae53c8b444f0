// Puts scalar constants into the fusions that read them.
//
//   y = fusion(x, c), calls={ p0, p1, multiply(p0, broadcast(p1)) }      =>   y = fusion(x), calls={ p0, c, multiply(p0, broadcast(c)) }
//
// A fusion in a fusion gets them, too.
//
// Requires: nothing.  Ensures: no operand of a fusion is a scalar constant.
// Leaves alone: constants with dimensions, elided ones, fusions whose computation something else
// calls or whose backend config or aliasing speaks of operands by number.
#pragma once

#include "passes/pass.h"

namespace hlo {

class FusionConstantSinking final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
