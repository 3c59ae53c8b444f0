// Forgets promises about gather and scatter indices.
//
//   i = s32[4] custom-call(x), custom_call_target="AssumeGatherIndicesInBound"      =>   i = s32[4] copy(x)
//
// The same for the target `GatherScatterIndicesBitpacked`. An optional part of `despecializer`.
//
// Requires: nothing.  Ensures: no custom call of these targets with one operand of its
// own shape is left.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class AssumeGatherIndicesToCopy final : public RewritePass {
 public:
  AssumeGatherIndicesToCopy();
};

}  // namespace hlo
