// Writes scatters that a GPU's kernels have no atomic updates for as loops: those of several
// operands, and those of elements of more than 64 bits.
//
//   (c, d) = scatter(x, y, indices, u, v), to_apply=f   =>   as scatter_expander does
//
// Options: those of scatter_expander, which leave more scatters alone.
//
// Requires: nothing.  Leaves alone: all other scatters, and dynamic shapes.
#pragma once

#include "passes/expand/scatter_expander.h"

namespace hlo {

class GpuScatterExpander final : public ScatterExpander {
 public:
  using ScatterExpander::ScatterExpander;

 protected:
  bool Matches(const Instruction& instruction) const override;
};

}  // namespace hlo
