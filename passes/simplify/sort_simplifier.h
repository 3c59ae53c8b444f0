// Drops operands of sorts that neither decide the order nor are read.
//
//   s = (f32[8], s32[8]) sort(x, y), to_apply={compare(p0, p1)}      s = f32[8] sort(x), to_apply={compare(p0, p1)}
//   g = f32[8] get-tuple-element(s), index=0                    =>   (uses of g become uses of s)
//
// Requires: nothing.  Ensures: of a sort that only get-tuple-elements read, each operand is
// read or compared.
// Leaves alone: sorts that are the root, are read as a whole or have control edges. The old
// comparator stays; `dce` removes it.
#pragma once

#include "passes/pass.h"

namespace hlo {

class SortSimplifier final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
