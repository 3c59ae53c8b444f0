// Lets arrays have their bounds for shapes; where they end is in scalars.
//
//   x = f32[<=6] parameter(0)
//   r = f32[] reduce(x, zero), dimensions={0}
// =>
//   x = f32[<=6] parameter(0)
//   p = (f32[6], s32[]) custom-call(x), custom_call_target="PadToStatic"
//   d = f32[6] get-tuple-element(p), index=0
//   n = s32[] get-tuple-element(p), index=1
//   m = f32[6] select(iota() < n, d, zero)
//   r = f32[] reduce(m, zero), dimensions={0}
//
// Sizes: dynamic_dimension_inference.h. What stands after the end of an array is masked for
// instructions that would see it: reductions by initial values that change nothing, products and
// convolutions by zeros, indices of scatters by the largest number, pads by their padding.
// Concatenations, reverses, sorts, reshapes, partial updates and operands of different sizes are
// written otherwise (dynamic_rewrites.cc), custom calls that pad at run time as well
// (dynamic_calls.cc). The entry's dynamic results become custom calls `SliceToDynamic`, unless
// `slice_dynamic_output` is off. Calls are inlined, and every call site gets a computation of its
// own; where a size is set or read in a fusion, fusions are dissolved.
//
// As XLA has it: a reduce-window over a dynamic dimension has (n - window) / stride + 1 results,
// whatever its padding; an update is written where its bound, not its size, fits; operands of one
// element are repeated to the size of the other.
//
// Otherwise than XLA: a slice has as many elements as are there, and no fewer than none; what is
// masked for a sum that begins with something else than zero is zero; branches and results of
// conditionals need not be tuples; all-reduces, barriers, features of kernels and dimensions along
// which no window moves keep their sizes; windows of scatters that end before those of the array
// are refused, not written with what stands after their end.
//
// Requires: nothing.  Ensures: no dynamic dimension but those of the entry's parameters and
// results, of infeeds and what runs asynchronously, of operands and results of what takes them
// (`supports_dynamism`, `requires_dynamism`), and of the custom calls that convert them.
// Leaves alone: modules without dynamic dimensions.
#pragma once

#include <string>

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct DynamicPadderOptions {
  bool slice_dynamic_output = true;
  // Sizes that have to be equal: "ignore", "compile-time" (an error unless they are one value),
  // "runtime" (custom calls `__xla__assert`).
  OneOf<"ignore", "compile-time", "runtime"> shape_check_mode;
  // Opcodes and targets of custom calls, separated by ';', that take arrays both whole and with
  // dynamic dimensions, or the latter only.
  std::string supports_dynamism;
  std::string requires_dynamism;

  HLO_OPTIONS(DynamicPadderOptions, slice_dynamic_output, shape_check_mode, supports_dynamism,
              requires_dynamism)
};

class DynamicPadder final : public WithOptions<Pass, DynamicPadderOptions> {
 public:
  using WithOptions::WithOptions;
  // What stands after the end of a masked sum is added to it.
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
