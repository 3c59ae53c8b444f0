// Computes only what is sliced out.
//
//   slice(add(x, y), [2:4])      =>   add(slice(x, [2:4]), slice(y, [2:4]))
//
// Requires: nothing.  Ensures: no slice reads an elementwise operation of two operands that nobody
// else reads, but for those below.
// Leaves alone: dynamic shapes, control edges.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class SliceHoister final : public RewritePass {
 public:
  SliceHoister();
};

}  // namespace hlo
