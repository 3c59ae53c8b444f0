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
// Options, for back ends that compute some operations on the narrow type themselves:
//   narrow, mixed: opcodes that take and give it, of these the ones that take wide values beside
//     it (float_support.h); others that have both become narrow where that loses nothing, else wide
//   support=gpu: also what a GPU of `compute_capability` takes: data movement, collectives,
//     products of bf16 and f8, from 9.0 on arithmetic on bf16, reductions by such
//
// Requires: nothing.  Ensures: outside fusion bodies only what is supported and the instructions
// below have values of the narrow type; `tuple-simplifier` and `dce` have run if anything changed.
// Leaves alone: convert, bitcast, bitcast-convert, tuples, parameters, constants, domain, calls,
// loops, conditionals, fusions, custom calls, asynchronous operations, side effects, combiners of
// collectives (a collective that becomes wide gets another one); of integers what looks at the bits
// of the type (shifts, count-leading-zeros, popcnt).
#pragma once

#include "passes/util/cuda_capability.h"
#include "passes/util/opcode_lists.h"
#include "passes/util/option_words.h"

namespace hlo {

struct FloatNormalizationOptions {
  OpcodeList narrow;
  OpcodeList mixed;
  OneOf<"none", "gpu"> support;
  CudaCapability compute_capability;

  HLO_OPTIONS(FloatNormalizationOptions, narrow, mixed, support, compute_capability)
};

class FloatNormalization final : public WithOptions<Pass, FloatNormalizationOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  void set_types(ElementType low, ElementType high) {
    low_ = low;
    high_ = high;
  }
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  ElementType low_ = ElementType::kBF16;
  ElementType high_ = ElementType::kF32;
};

}  // namespace hlo
