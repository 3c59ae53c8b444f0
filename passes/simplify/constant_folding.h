// Evaluates instructions whose operands are known and puts constants in their places.
//
//   a = f32[3] constant({1, 2, 3})
//   b = f32[3] broadcast(f32[] constant(3)), dimensions={}
//   c = f32[3] add(a, b)                                      =>   c = f32[3] constant({4, 5, 6})
//
// Known: constants, broadcasts of constants, iotas, and tuples of those; at `level=default` one of
// them must be a constant. Arguments that are the same constant at every call of a computation are
// first copied into it.
//
// Large independent values are evaluated on the threads of the context, before they are put
// in place in order.
//
// Values are those of lib/eval, bit for bit. The constant has the shape of the instruction with its
// layout.
//
// Leaves alone: broadcast, iota, pad of a broadcast (they would only grow the module), fft;
// collectives, custom calls, random numbers, side effects, control edges, dynamic shapes; constants
// whose value was elided; at `level=default` loops and what is larger than `max_elements`;
// evaluations that need more than `max_work` element computations. Remarks say which instruction
// was left and why.
#pragma once

#include "passes/pass.h"

namespace hlo {

enum class FoldingLevel {
  kDefault,
  kAggressive,  // also loops, and operations on broadcasts and iotas alone, of any size
};

struct ConstantFoldingOptions {
  FoldingLevel level = FoldingLevel::kDefault;
  // Keep tuples: of a tuple-shaped result only the elements that are read become constants.
  bool is_layout_sensitive = false;
  // false: floats and complex numbers are moved, but not computed with.
  bool fold_float_arithmetic = true;
  int64_t max_elements = 45'000'000;  // operands together, or result; level=default
  int64_t max_work = 100'000'000;     // element computations of one evaluation, at any level

  HLO_OPTIONS(ConstantFoldingOptions, level, is_layout_sensitive, fold_float_arithmetic,
              max_elements, max_work)
};

class ConstantFolding final : public WithOptions<Pass, ConstantFoldingOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

// The option text of a level.
absl::Status ParseOption(const OptionText& text, FoldingLevel& out);
std::string OptionValue(FoldingLevel level);
std::string OptionType(FoldingLevel level);

}  // namespace hlo
