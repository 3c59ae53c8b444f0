// Simplifies by algebra: rules that hold for all values, applied until none fits.
//
//   s = f32[4] add(x, broadcast(0))                 =>   x
//   t = f32[6] reshape(f32[2,3] reshape(x))         =>   reshape(x)
//   r = f32[4] divide(a, exponential(b))            =>   multiply(a, exponential(negate(b)))
//
// The rules stand, each with its equation, in rules_*.cc; README.md says what they have in
// common. Some change rounding or differ on -0, NaN and infinities, as the rules of XLA do:
// `safety` in their tables.
//
// Requires: nothing.  Ensures: with `run_to_fixed_point`, no rule of the chosen options applies
// outside fusion bodies; dead code that rules leave behind stays.
// Leaves alone: fusion bodies, what runs asynchronously, instructions with control edges (but for
// some reshapes, which hand them on), shardings that the replacement does not carry, side effects,
// arithmetic of f8e8m0fnu, which has neither a sign nor zero. Four rules keep values where XLA's do
// not: x^-1 stays for integers, nested dynamic slices clamp both starts, a reduction
// of dimensions of size 1 keeps a start value that is not the identity, and max(clamp(lo, x, hi),
// lo) is the clamp only for constant bounds in order. Slices of reshapes are moved where newer
// releases do it, also where the result has one dimension.
#pragma once

#include <string>

#include "passes/rewrite.h"

namespace hlo {

struct AlgebraicSimplifierOptions {
  // Layouts are fixed: only rules that keep them.
  bool is_layout_sensitive = false;
  // Only rules that keep every bit and make no more arrays, and only in computations whose arrays
  // have known sizes.
  bool exact = false;
  bool run_to_fixed_point = true;  // until nothing is left to do
  bool rewrite_reshape_transpose_as_slice_concatenate = true;
  bool enable_hoist_transpose_of_reshape = false;
  bool enable_fold_transpose_into_scatter = false;
  bool enable_fast_math = false;  // also rules that are wrong for NaN, infinities, and rounding
  bool enable_floats_are_real = false;  // also rules that change rounding
  bool minmax_propagate_nan = true;
  bool executing_on_cpu = false;
  bool enable_sink_broadcast = true;
  bool enable_dot_strength_reduction = true;
  bool supports_non_canonical_dots = true;  // several contracting, other orders of dimensions
  bool enable_dot_to_multiply_rewrite = true;
  bool enable_move_dot_param_to_rhs = false;  // where what is no parameter stands there
  bool use_associative_reordering = false;    // of dots of dots, and of what one operand is
  double associative_reordering_threshold = 2.0;
  bool raise_slice_and_reduce_through_dot = false;
  double raise_slice_and_reduce_through_dot_threshold = 2.0;
  bool enable_window_reduce_to_reduce_replacement = true;
  bool enable_negative_padding_replacement = true;
  bool enable_dynamic_update_slice_to_pad_replacement = true;
  bool enable_broadcast_degenerate_dimension = true;
  bool enable_reduce_of_reshape = true;
  bool unconditionally_simplify_reduce_of_transpose_or_reshape = false;  // whoever else reads it
  bool enable_unconditional_reduce_of_concat_replacement = true;  // of parts of different sizes
  bool enable_conv_simplification = true;                         // to dots, when layouts are fixed
  bool enable_conv_operand_swap = true;  // when the kernel is larger than the input
  bool enable_folding_pad_into_convolution = true;
  bool enable_conv_add_multiply_reorder = false;
  bool enable_scalar_multiply_reduction = false;  // factors go where convolutions are smallest
  int64_t very_small_gather_size = 4;             // at most 8: gathers that become selects
  bool disable_dynamic_slice_to_slice_conversion = false;
  bool enable_conditional_simplification = false;
  bool enable_remove_no_op_reduce_precision = false;
  bool use_convert_constant_folding = false;
  bool rewrite_no_op_bitcast_convert_to_bitcast = false;  // when layouts are fixed
  // `__cudnn$batchNormalizationForwardTraining`: the third result of such a call is a variance.
  std::string cudnn_batchnorm_forward_training_metadata;

  HLO_OPTIONS(AlgebraicSimplifierOptions, is_layout_sensitive, exact, run_to_fixed_point,
              rewrite_reshape_transpose_as_slice_concatenate, enable_hoist_transpose_of_reshape,
              enable_fold_transpose_into_scatter, enable_fast_math, enable_floats_are_real,
              minmax_propagate_nan, executing_on_cpu, enable_sink_broadcast,
              enable_dot_strength_reduction, supports_non_canonical_dots,
              enable_dot_to_multiply_rewrite, enable_move_dot_param_to_rhs,
              use_associative_reordering, associative_reordering_threshold,
              raise_slice_and_reduce_through_dot, raise_slice_and_reduce_through_dot_threshold,
              enable_window_reduce_to_reduce_replacement, enable_negative_padding_replacement,
              enable_dynamic_update_slice_to_pad_replacement, enable_broadcast_degenerate_dimension,
              enable_reduce_of_reshape, unconditionally_simplify_reduce_of_transpose_or_reshape,
              enable_unconditional_reduce_of_concat_replacement, enable_conv_simplification,
              enable_conv_operand_swap, enable_folding_pad_into_convolution,
              enable_conv_add_multiply_reorder, enable_scalar_multiply_reduction,
              very_small_gather_size, disable_dynamic_slice_to_slice_conversion,
              enable_conditional_simplification, enable_remove_no_op_reduce_precision,
              use_convert_constant_folding, rewrite_no_op_bitcast_convert_to_bitcast,
              cudnn_batchnorm_forward_training_metadata)
};

class AlgebraicSimplifier final : public Pass {
 public:
  using Options = AlgebraicSimplifierOptions;
  static constexpr RuleSafety kSafety = kReassociate;  // without `exact`
  explicit AlgebraicSimplifier(Options options = {});
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
  RuleSet rules_;
  int max_runs_;
};

}  // namespace hlo
