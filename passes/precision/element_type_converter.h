// Computes in another element type what would compute in one that a back end does not know.
//
//   s = bf16[4] add(x, y)      =>   w = f32[4] add(f32[4] convert(x), f32[4] convert(y));   s = bf16[4] convert(w)
//
// Operands of `eliminate_type` become `replace_with_type`, results are converted back. What calls
// computations stays, they are rewritten inside: so sums of a reduction are rounded at each step.
//
// Requires: nothing.  Ensures: instructions of the eliminated type are those listed below.
// Leaves alone: parameters, constants, tuples, conversions, infeed, outfeed, custom calls, domains,
// bitcasts, control flow, what applies a computation, asynchronous operations, scaled-dots.
#pragma once

#include "passes/computation_pass.h"
#include "passes/util/type_lists.h"

namespace hlo {

struct ElementTypeConverterOptions {
  ElementType eliminate_type = ElementType::kBF16;
  ElementType replace_with_type = ElementType::kF32;

  HLO_OPTIONS(ElementTypeConverterOptions, eliminate_type, replace_with_type)
};

class ElementTypeConverter final
    : public WithOptions<ComputationPass, ElementTypeConverterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo
