// Writes a map over a computation of one operation as that operation on arrays.
//
//   f { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] subtract(q, p) }
//   m = f32[4] map(x, y), dimensions={0}, to_apply=f         =>   m = f32[4] subtract(y, x)
//
// A root that is a parameter gives the operand itself, a constant root a broadcast of it.
//
// Requires: nothing.  Ensures: no map is left whose computation is one elementwise operation on
// parameters, a parameter or a constant.
// Leaves alone: computations of several operations, operations whose array form is another one
// (broadcast, iota, device numbers, …), side effects. The computations stay; `dce` removes them.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class MapInliner final : public RewritePass {
 public:
  MapInliner();
};

}  // namespace hlo
