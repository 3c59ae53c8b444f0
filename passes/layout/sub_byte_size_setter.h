// Gives the layouts of narrow elements their size: they lie packed from now on.
//
//   x = s4[16]{0} parameter(0)      =>   x = s4[16]{0:E(4)} parameter(0)
//
// Requires: nothing.  Ensures: arrays of types narrower than a byte have their width as element
// size, all others, pred among them, none; the entry layout included.
// Leaves alone: shapes without layout.
#pragma once

#include "passes/pass.h"

namespace hlo {

class SubByteSizeSetter final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
