// Drops the element size from layouts: narrow elements take whole bytes again.
//
//   x = s4[16]{0:E(4)} parameter(0)      =>   x = s4[16]{0} parameter(0)
//
// Requires: nothing.  Ensures: no layout has an element size, the entry layout included.
#pragma once

#include "passes/pass.h"

namespace hlo {

class SubByteSizeRemoval final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
