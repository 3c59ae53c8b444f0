// Simplifies by algebra: rules that hold for all values, applied until none fits.
//
//   s = f32[4] add(x, broadcast(0))                 =>   x
//   t = f32[6] reshape(f32[2,3] reshape(x))         =>   reshape(x)
//   r = f32[4] divide(a, exponential(b))            =>   multiply(a, exponential(negate(b)))
//
// The rules stand, each with its equation, in rules_*.cc; README.md says what they have in common. Some change rounding or differ on -0, NaN
// and infinities, as the rules of XLA do: `safety` in their tables.
//
// Requires: nothing.  Ensures: no rule of the chosen options applies outside fusion bodies; dead code that rules leave behind stays.
// Leaves alone: fusion bodies, instructions with control predecessors, shardings that the replacement does not carry, side effects.
// Two rules keep values where XLA's do not: nested dynamic slices clamp both starts, and a reduction of dimensions of size 1 keeps a start
// value that is not the identity. Not here yet: the rules for convolution, gather, scatter, conditional, arg-max reductions, sums of
// all-reduce, opt-barrier, reordering of chains of dots, slice of reshape, and what turns reshapes, copies and transposes into bitcasts when layouts are fixed.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

struct AlgebraicSimplifierOptions {
  // Layouts are fixed: only rules that keep them.
  bool is_layout_sensitive = false;
  // Only rules that keep every bit.
  bool exact = false;
  bool enable_fast_math = false;  // also rules that are wrong for NaN, infinities, and rounding
  bool minmax_propagate_nan = true;
  bool executing_on_cpu = false;
  bool enable_sink_broadcast = true;
  bool enable_dot_strength_reduction = true;
  bool enable_dot_to_multiply_rewrite = true;
  bool enable_window_reduce_to_reduce_replacement = true;
  bool enable_negative_padding_replacement = true;
  bool enable_dynamic_update_slice_to_pad_replacement = true;
  bool enable_broadcast_degenerate_dimension = true;

  static auto Fields() {
    using O = AlgebraicSimplifierOptions;
    return std::tuple{
        Optional("is_layout_sensitive", &O::is_layout_sensitive),
        Optional("exact", &O::exact),
        Optional("enable_fast_math", &O::enable_fast_math),
        Optional("minmax_propagate_nan", &O::minmax_propagate_nan),
        Optional("executing_on_cpu", &O::executing_on_cpu),
        Optional("enable_sink_broadcast", &O::enable_sink_broadcast),
        Optional("enable_dot_strength_reduction", &O::enable_dot_strength_reduction),
        Optional("enable_dot_to_multiply_rewrite", &O::enable_dot_to_multiply_rewrite),
        Optional("enable_window_reduce_to_reduce_replacement",
                 &O::enable_window_reduce_to_reduce_replacement),
        Optional("enable_negative_padding_replacement", &O::enable_negative_padding_replacement),
        Optional("enable_dynamic_update_slice_to_pad_replacement",
                 &O::enable_dynamic_update_slice_to_pad_replacement),
        Optional("enable_broadcast_degenerate_dimension",
                 &O::enable_broadcast_degenerate_dimension)};
  }
};

class AlgebraicSimplifier final : public Pass {
 public:
  using Options = AlgebraicSimplifierOptions;
  explicit AlgebraicSimplifier(Options options = {});
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  RuleSet rules_;
};

}  // namespace hlo
