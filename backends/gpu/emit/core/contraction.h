// backends/gpu/emit/core/contraction.h
//
// Sums of products: the arithmetic that dot and convolution share. Narrow floats are widened to f32
// and the sum is rounded once; floats use fused multiply-add. Internal: includes LLVM headers.
#pragma once

#include "backends/gpu/emit/core/fusion_emitter.h"
#include "lib/math/accumulator.h"

namespace hlo::gpu {

class ProductSum final {
 public:
  ProductSum(GpuFusionEmitter& emitter, ElementType lhs, ElementType rhs, ElementType result);

  // The type that products are summed in, for results of `result`.
  static ElementType TypeFor(ElementType result) {
    return AccumulatorType(math::Accumulation::kDot, result, math::Carrier::kGpu);
  }
  ElementType type() const { return type_; }
  Emitted Zero() const;
  // Integers become the type of the result before they are widened; floats keep their digits.
  Emitted WidenLhs(const Emitted& x) const { return Widen(x, lhs_); }
  Emitted WidenRhs(const Emitted& x) const { return Widen(x, rhs_); }
  // sum + a * b, of widened operands.
  Emitted Add(const Emitted& sum, const Emitted& a, const Emitted& b) const;
  // Of two sums.
  Emitted Plus(const Emitted& a, const Emitted& b) const;
  Emitted Finish(const Emitted& sum) const { return emitter_.Convert(sum, type_, result_); }

 private:
  Emitted Widen(const Emitted& x, ElementType from) const;

  GpuFusionEmitter& emitter_;
  ElementType lhs_, rhs_, result_, type_;
};

}  // namespace hlo::gpu
