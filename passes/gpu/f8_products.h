// Products of f8 that cuBLAS multiplies: what of their operands it takes in.
//
//   multiply(convert(f8[…] x), broadcast(scale))      x, with the scale beside it
//   reshape(divide(convert(x), broadcast(scale)))     reshape(x), with 1 / scale
//
// What only moves elements stands before the conversion then.
#pragma once

#include <utility>
#include <vector>

#include "lib/support/decision.h"
#include "passes/rewrite.h"

namespace hlo {

inline bool IsF8(ElementType type) { return IsFloat(type) && BitWidth(type) == 8; }

struct F8Operand {
  Instruction* f8 = nullptr;
  Instruction* scale = nullptr;  // a scalar that it is multiplied by, or divided; null: neither
  bool is_divided = false;
  // What moves elements on the way to the product, the first that is done first, and which operand
  // of it is the value.
  std::vector<std::pair<Instruction*, int>> moves;
};

// None where `operand` of a dot is not made of f8 in this way.
std::optional<F8Operand> FindF8Operand(Instruction* operand);

// Whether cuBLAS knows the product `dot` of such operands.
Decision IsF8Product(const Instruction& dot, const F8Operand& lhs, const F8Operand& rhs);

// What the call takes for a product: matrices that lie with the contracted dimension minor, their
// free and contracted sizes up to multiples of 16; f32 scalars.
struct F8Factors {
  Instruction *lhs, *rhs;
  Instruction *lhs_scale, *rhs_scale;
  DotAttrs attrs;
  Shape result;
};
// `may_lie_anyhow`: the library takes matrices that lie the other way, too.
F8Factors F8FactorsOf(const Instruction& dot, const F8Operand& lhs, const F8Operand& rhs,
                      bool may_lie_anyhow, Rewriter& b);

// `scale`, or 1 / scale, as f32.
Instruction* F8Scale(Instruction* scale, bool is_divided, Rewriter& b);

// The vector `bias` with zeros up to `size` elements.
Instruction* PaddedVector(Instruction* bias, int64_t size, Rewriter& b);

}  // namespace hlo
