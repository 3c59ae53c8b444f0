// Products that NVIDIA's libraries take in the types that they have.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/ops/attrs.h"

namespace hlo {

// Of matrices, batches aside, with a result of a type in which they are summed up.
inline bool IsLibraryProduct(const Instruction& product) {
  if (product.opcode() != Opcode::kDot || product.shape().IsZeroSized()) return false;
  const Shape lhs = product.operand(0)->shape(), rhs = product.operand(1)->shape();
  const ElementType type = product.shape().element_type();
  const bool is_of_bytes = type == ElementType::kS32 && lhs.element_type() == ElementType::kS8 &&
                           rhs.element_type() == ElementType::kS8;
  const bool is_summed = is_of_bytes || IsComplex(type) || (IsFloat(type) && BitWidth(type) >= 8);
  const auto batches = static_cast<int>(product.attrs<DotAttrs>().lhs_batch_dims.size());
  return is_summed && lhs.rank() == batches + 2 && rhs.rank() == batches + 2 &&
         product.shape().rank() == batches + 2;
}

}  // namespace hlo
