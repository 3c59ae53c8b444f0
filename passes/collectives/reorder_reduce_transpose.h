// Transposes before devices reduce, where what follows is a sum: it may then be moved out of loops.
//
//   add(acc, transpose(all-reduce(x)))      =>   add(acc, all-reduce(transpose(x)))
//
// So for reduce-scatter, whose dimension moves along.
//
// Requires: nothing.  Leaves alone: transposes that no add reads, reductions that something else
// reads, several arrays at once, control edges.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class ReorderReduceTranspose final : public RewritePass {
 public:
  ReorderReduceTranspose();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
