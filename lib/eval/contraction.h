// lib/eval/contraction.h
//
// The inner loops of dot and convolution: sums of products in ascending order of the contracted
// index, each product and each sum rounded, vectorised over result elements only.
#pragma once

#include <cstdint>

#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

// out[b, i, j] = Σ_k lhs[b, i, k] · rhs[b, k, j], all dense.
struct MatMul {
  int64_t batch, rows, k, columns;
  // False where nothing is contracted and `k` is 1: a product that is -0 stays so, as that of
  // `multiply`; a sum that begins with 0 has no -0.
  bool is_sum = true;
};

// The type in which RunMatMul sums products of a result type: as lib/math/accumulator.h says, of
// integers u32 or u64.
ElementType MatMulType(ElementType result);

// The type of the values of a dot or convolution before the last conversion: the result's, but that
// of the widest complex operand where the result is not complex, of the widest float where it has
// no fraction, and of the widest integer where it is pred, as XLA has it.
ElementType ProductType(ElementType lhs, ElementType rhs, ElementType result);
// Of a dot or convolution.
ElementType ProductType(const Instruction& product);

// An operand of a dot or convolution of ProductType `type` as an array of MatMulType(type). Floats
// wider than `type` keep their digits, as on XLA's CPU; integers become `type` first.
Literal AsFactor(const Literal& operand, ElementType type);

// Runs on arrays of a MatMulType. For pred, products are `and` and sums `or`.
void RunMatMul(const MatMul& sizes, ElementType type, const uint8_t* lhs, const uint8_t* rhs,
               uint8_t* out);

// sums[j] += factor · row[j] for j < count.
void MultiplyAdd(ElementType type, const uint8_t* factor, const uint8_t* row, int64_t count,
                 uint8_t* sums);

}  // namespace hlo
