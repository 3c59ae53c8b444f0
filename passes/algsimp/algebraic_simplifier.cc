#include "passes/algsimp/algebraic_simplifier.h"

#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo {
namespace {

bool CarriesSharding(const Instruction& old, const Instruction& replacement, uint32_t first_new) {
  if (old.sharding() == nullptr || replacement.id() >= first_new) return true;
  return replacement.sharding() != nullptr && *replacement.sharding() == *old.sharding();
}

bool MayReplace(const Instruction& old, const Instruction& replacement, uint32_t first_new) {
  return old.control_predecessors().empty() && Compatible(old.shape(), replacement.shape()) &&
         CarriesSharding(old, replacement, first_new);
}

bool MayReplaceWithLayout(const Instruction& old, const Instruction& replacement,
                          uint32_t first_new) {
  return MayReplace(old, replacement, first_new) && old.shape() == replacement.shape();
}

// What becomes of dots, and of reductions, of which some are about dots: in the order in which the
// first one that applies is the best.
template <class Add>
void AddDotAndReduceRules(const AlgebraicSimplifierOptions& options, const Add& add) {
  add(algsimp::DotOfNothingRules());
  if (options.enable_dot_to_multiply_rewrite) {
    add(algsimp::DotToMultiplyRules());
    add(algsimp::MoreDotsToMultiplyRules());
  }
  if (options.use_associative_reordering) add(algsimp::AssociativeDotRules());
  if (options.enable_dot_strength_reduction) {
    add(algsimp::DotStrengthRules());
    if (!options.executing_on_cpu) add(algsimp::DotOfVectorRules());
  }
  add(algsimp::ReorderedDotRules());
  add(algsimp::DotRules());
  if (options.enable_move_dot_param_to_rhs) add(algsimp::ParameterToRhsRules());
  add(algsimp::FreeReduceRules());
  if (options.raise_slice_and_reduce_through_dot) add(algsimp::RaiseThroughDotRules());
  const bool of_all_users = options.unconditionally_simplify_reduce_of_transpose_or_reshape;
  add(algsimp::ReduceOfTransposeRules(of_all_users));
  add(algsimp::ReduceOfReduceRules());
  if (options.enable_reduce_of_reshape) add(algsimp::ReduceOfReshapeRules(of_all_users));
  add(algsimp::ReduceOfConcatRules(options.enable_unconditional_reduce_of_concat_replacement));
  if (options.supports_non_canonical_dots && options.enable_dot_strength_reduction)
    add(algsimp::ReduceOfDotRules());
  add(algsimp::ReduceOfBroadcastRules());
}

}  // namespace

AlgebraicSimplifier::AlgebraicSimplifier(Options options) : options_(options) {
  const RuleSafety allowed = options.exact ? kExact : kReassociate;
  const auto add = [&](std::span<const Rule> rules) { rules_.Add(rules, allowed); };
  if (options.enable_fast_math) {
    add(algsimp::FastAddRules());
    add(algsimp::FastMultiplyRules());
    add(algsimp::FastFunctionRules());
  }
  add(algsimp::AddSubtractRules());
  add(algsimp::MultiplyDivideRules());
  if (options.enable_conv_add_multiply_reorder) add(algsimp::ConvAddMultiplyRules());
  add(algsimp::FunctionRules());
  add(algsimp::LogicRules());
  add(algsimp::OrderRules());
  if (options.minmax_propagate_nan) add(algsimp::NanPropagatingRules());
  add(algsimp::ConvertRules());
  add(algsimp::StructureRules());
  add(algsimp::MovementRules());
  add(algsimp::DynamicSliceRules());
  if (options.enable_dynamic_update_slice_to_pad_replacement) add(algsimp::UpdateToPadRules());
  if (options.enable_negative_padding_replacement) add(algsimp::NegativePaddingRules());
  if (!options.disable_dynamic_slice_to_slice_conversion) add(algsimp::DynamicSliceToSliceRules());
  add(algsimp::LateDynamicSliceRules());
  add(algsimp::ReduceRules());
  if (options.enable_scalar_multiply_reduction) add(algsimp::ScalarMultiplyRules());
  add(algsimp::ConvolutionRules());
  if (options.enable_folding_pad_into_convolution) add(algsimp::FoldPadRules());
  add(algsimp::CollectiveRules());
  add(algsimp::BitcastRules());
  if (options.enable_conditional_simplification) add(algsimp::ConditionalRules());
  if (options.enable_remove_no_op_reduce_precision) add(algsimp::NoOpReducePrecisionRules());
  if (options.use_convert_constant_folding) add(algsimp::ConvertConstantRules());
  if (options.enable_window_reduce_to_reduce_replacement) add(algsimp::WindowToReduceRules());
  add(algsimp::WindowOfPadRules());
  if (options.is_layout_sensitive) {
    rules_.set_accept(MayReplaceWithLayout);
    if (options.rewrite_no_op_bitcast_convert_to_bitcast)
      add(algsimp::BitcastConvertToBitcastRules());
    add(algsimp::LayoutRules());
    add(algsimp::LayoutReduceRules());
    if (options.enable_conv_simplification) add(algsimp::ConvolutionToDotRules());
    return;
  }
  rules_.set_accept(MayReplace);
  AddDotAndReduceRules(options, add);
  if (options.enable_window_reduce_to_reduce_replacement) add(algsimp::SliceOfRunningRules());
  add(algsimp::RunningRules());
  add(algsimp::ChainRules());
  add(algsimp::FreeMovementRules());
  if (options.rewrite_reshape_transpose_as_slice_concatenate) add(algsimp::SpaceToDepthRules());
  add(algsimp::FreeDynamicSliceRules());
  add(algsimp::FreeConcatRules());
  add(options.supports_non_canonical_dots ? algsimp::NonCanonicalDotRules()
                                          : algsimp::CanonicalDotRules());
  if (options.enable_conv_operand_swap) add(algsimp::ConvolutionSwapRules());
  add(algsimp::FreeConvolutionRules());
  add(algsimp::GatherScatterRules());
  add(algsimp::SmallGatherRules(options.very_small_gather_size));
  if (options.enable_broadcast_degenerate_dimension) add(algsimp::BroadcastDegenerateRules());
  if (options.enable_sink_broadcast) {
    if (options.executing_on_cpu) add(algsimp::CpuRules());
    if (!options.executing_on_cpu) add(algsimp::ChainedConvAddRules());
    add(algsimp::SinkBroadcastRules());
  }
}

absl::StatusOr<bool> AlgebraicSimplifier::Run(Module& module, PassContext& context) {
  const algsimp::ScopedDotChoices choices(
      {options_.associative_reordering_threshold,
       options_.raise_slice_and_reduce_through_dot_threshold,
       options_.enable_move_dot_param_to_rhs && !options_.is_layout_sensitive});
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    ASSIGN_OR_RETURN(const bool rewritten, ApplyRules(*computation, rules_, context));
    changed |= rewritten;
  }
  return changed;
}

HLO_DEFINE_PASS(AlgebraicSimplifier)

}  // namespace hlo
