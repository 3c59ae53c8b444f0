// Forgets in which memory values were to lie.
//
//   y = f32[4] custom-call(x), custom_call_target="MoveToHost"     =>     y = x
//
// Also MoveToDevice and annotate_device_placement: for platforms whose memory is one.
//
// Requires: nothing.  Ensures: no such custom call of the shape of its operand is left.
// Leaves alone: PinToDevice and other annotations (annotation-remover).
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class StripMemoryPlacementAnnotations final : public RewritePass {
 public:
  StripMemoryPlacementAnnotations();
};

}  // namespace hlo
