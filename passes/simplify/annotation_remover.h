// Puts operands in the place of custom calls that say something of them and are their value.
//
//   y = f32[4] custom-call(x), custom_call_target="Sharding"     =>     y = x
//
// What they say was for partitioners and schedulers; an attribute
// `custom_call_has_side_effect=true` only kept them until these had read it. The targets:
// lib/eval/custom_calls.h. Markers of calls that were inlined (call-outliner), and those of several
// values of a manual region (Shardy), become the tuple of their operands, or the one operand.
//
// Requires: nothing that is still to come reads the annotations.  Ensures: no such custom call of
// the shape of its operand, or of the tuple of its operands, is left.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class AnnotationRemover final : public RewritePass {
 public:
  AnnotationRemover();
};

}  // namespace hlo
