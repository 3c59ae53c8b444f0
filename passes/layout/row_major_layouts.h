// Gives every array the row-major layout, for platforms whose arrays are dense and lie in the order
// of their dimensions.
//
//   x = f32[2,3]{0,1:T(8,128)S(1)} negate(p)      =>   x = f32[2,3]{1,0} negate(p)
//
//   y = f32[2,3]{1,0} copy(x)                       =>   x
//
// A layout says where elements lie, not what they are, so values stay; only a bitcast reads
// layouts, and bitcast-expander has written out those that matter.
//
// Requires: bitcast-expander has run.  Ensures: every array of every computation is row-major,
// without tiles, memory space or element size, but for what a bitcast that still moves elements
// reads and makes.
// Leaves alone: the module's entry layout, which is about the arrays of the caller; copies with
// control edges or a sharding.
#pragma once

#include "passes/pass.h"

namespace hlo {

class RowMajorLayouts final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
