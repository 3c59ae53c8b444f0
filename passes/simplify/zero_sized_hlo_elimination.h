// Replaces arrays without elements by empty constants.
//
//   a = f32[3,0] dot(x, y)      =>   a = f32[3,0] constant({ {}, {}, {} })
//
// Requires: nothing.  Ensures: outside fusion bodies, uses of arrays of static size 0 read
// constants, but for those below.
// Leaves alone: side effects (except the custom call `xla.sdy.LocalToGlobalShape`), control edges,
// dynamic shapes, tuples; parameters stay, only their uses move.
#pragma once

#include "passes/pass.h"

namespace hlo {

class ZeroSizedHloElimination final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
