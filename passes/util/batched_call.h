// Custom calls that do the same for each member of a batch.
#pragma once

#include <cstdint>

#include "absl/algorithm/container.h"
#include "lib/ir/instruction.h"
#include "lib/support/read_number.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {

// How many leading dimensions, the same in all operands and results, are a batch, as the call's
// frontend attribute `num_batch_dims` says; JAX marks calls of LAPACK so. 0: none, or no such call.
inline int64_t BatchDimsOfCall(const Instruction& call) {
  if (call.opcode() != Opcode::kCustomCall || call.operand_count() == 0 ||
      call.attrs<CustomCallAttrs>().custom_call_has_side_effect)
    return 0;
  const int64_t count = ReadNumber<int64_t>(FrontendAttribute(call, "num_batch_dims")).value_or(0);
  if (count <= 0) return 0;
  const Shape like = call.operand(0)->shape();
  const auto has_batch = [&](Shape shape) {
    if (!shape.IsArray() || shape.has_dynamic_dims() || shape.rank() < count) return false;
    for (int64_t d = 0; d < count; ++d) {
      if (shape.dim(static_cast<int>(d)) != like.dim(static_cast<int>(d))) return false;
    }
    return true;
  };
  const bool results_have = call.shape().IsTuple()
                                ? absl::c_all_of(call.shape().elements(), has_batch)
                                : has_batch(call.shape());
  const auto operand_has = [&](const Instruction* operand) { return has_batch(operand->shape()); };
  return results_have && absl::c_all_of(call.operands(), operand_has) ? count : 0;
}

}  // namespace hlo
