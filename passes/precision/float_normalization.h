// Lets all operations on a narrow type work on a wide one: operands are converted,
// results converted back.
//
//   s = bf16[4] add(x, y)      =>   w = f32[4] add(f32[4] convert(x), f32[4] convert(y));   s = bf16[4] convert(w)
//
// The name of the pass says which type: float-normalization-bf16 (bf16 becomes f32), -f8e8m0fnu
// (f32), -f8e5m2 and the other f8 and f4e2m1fn (f16), -s4 (s8), -u4 (u8). Combiners and
// comparators are copied, take wide parameters and round their results. Where the module converts
// a result to the wide type, the value that was not rounded is read (XLA's excess precision).
// Results of the f8 types are rounded twice where f16 rounds, sums of a reduction once per step:
// they may differ from those of the narrow operation. (XLA:CPU leaves dots alone that its library
// computes; ours knows of none.)
//
// Requires: nothing.  Ensures: outside fusion bodies only the instructions below have values of the
// narrow type; `tuple-simplifier` and `dce` have run if anything changed.
// Leaves alone: convert, bitcast, bitcast-convert, tuples, parameters, constants, domain, calls,
// loops, conditionals, fusions, custom calls, asynchronous operations, side effects, collectives
// with combiners and these combiners; of integers what looks at the bits of the type (shifts,
// count-leading-zeros, popcnt).
#pragma once

#include "passes/pass.h"

namespace hlo {

class FloatNormalization final : public Pass {
 public:
  static constexpr RuleSafety kSafety = kReassociate;
  FloatNormalization() = default;
  FloatNormalization(ElementType low, ElementType high) : low_(low), high_(high) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  ElementType low_ = ElementType::kBF16;
  ElementType high_ = ElementType::kF32;
};

}  // namespace hlo
