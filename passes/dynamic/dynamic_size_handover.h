// Gives a size to what is handed on as an array of dynamic size, and has none yet.
//
//   x = f32[4] parameter(0)                x = f32[4] parameter(0)
//   t = (f32[<=4]) tuple(x)          =>    n = s32[] constant(4)
//                                          d = f32[<=4] set-dimension-size(x, n), dimensions={0}
//                                          t = (f32[<=4]) tuple(d)
//
// What hands values on are tuples and their elements, barriers, calls of all kinds and the roots of
// what is called. There an array may be written as static on one side and as bounded on the other
// (XLA reads over it, too), but in memory a bounded one has its sizes after it.
//
// Requires: nothing.  Ensures: no static array is read as one of dynamic size.
// Leaves alone: arrays of dynamic size that are handed on as static ones.
#pragma once

#include "passes/pass.h"

namespace hlo {

class DynamicSizeHandover final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
