// Fusions that passes may change as they like.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/ops/attrs.h"

namespace hlo {

// Whether nothing but the body says what the fusion's operands are for: it is no custom one, whose
// kernel takes them by their numbers, and none of them shares memory with the result.
inline bool IsPlainFusion(const Instruction& x) {
  if (!x.IsFusion()) return false;
  const auto& attrs = x.attrs<FusionAttrs>();
  return attrs.kind != FusionKind::kCustom && attrs.output_to_operand_aliasing.empty();
}

}  // namespace hlo
