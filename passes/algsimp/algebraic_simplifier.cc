#include "passes/algsimp/algebraic_simplifier.h"

#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo {
namespace {

constexpr int kMaxRuns = 50;

bool CarriesSharding(const Instruction& old, const Instruction& replacement, uint32_t first_new) {
  if (old.sharding() == nullptr || replacement.id() >= first_new) return true;
  if (replacement.sharding() == nullptr) return replacement.opcode() != Opcode::kParameter;
  return *replacement.sharding() == *old.sharding();
}

// Reshapes that become another reshape, a broadcast, an update or nothing hand on their control
// edges, so do dots that lose dimensions of size 1; whatever else has some stays.
bool HandsOnControlEdges(const Instruction& old, const Instruction& replacement,
                         uint32_t first_new) {
  constexpr OpcodeSet kTakers = {Opcode::kReshape, Opcode::kBroadcast, Opcode::kConstant,
                                 Opcode::kDynamicUpdateSlice};
  if (replacement.id() < first_new) return false;
  if (old.opcode() == Opcode::kDot) return replacement.opcode() == Opcode::kReshape;
  return old.opcode() == Opcode::kReshape && kTakers.Has(replacement.opcode());
}

// A scalar in all places, or a count, knows no size at run time, which what it replaces may have.
bool LosesSizes(const Instruction& old, const Instruction& replacement) {
  if (!old.shape().has_dynamic_dims()) return false;
  return replacement.IsConstant() || replacement.opcode() == Opcode::kIota ||
         (replacement.opcode() == Opcode::kBroadcast && replacement.operand(0)->shape().IsScalar());
}

// Arithmetic of scales, which have neither a sign nor zero: -x is NaN, and x + 0 is not x.
bool IsOfScales(const Instruction& instruction) {
  constexpr OpcodeSet kChooses = {Opcode::kCopy,    Opcode::kConvert, Opcode::kSelect,
                                  Opcode::kMaximum, Opcode::kMinimum, Opcode::kClamp};
  return instruction.shape().IsArray() &&
         instruction.shape().element_type() == ElementType::kF8E8M0FNU &&
         IsElementwise(instruction.opcode()) && !kChooses.Has(instruction.opcode());
}

bool MayReplace(const Instruction& old, const Instruction& replacement, uint32_t first_new) {
  return !LosesSizes(old, replacement) && !IsOfScales(old) &&
         (!old.has_control_edges() || HandsOnControlEdges(old, replacement, first_new)) &&
         Compatible(old.shape(), replacement.shape()) &&
         CarriesSharding(old, replacement, first_new);
}

bool MayReplaceWithLayout(const Instruction& old, const Instruction& replacement,
                          uint32_t first_new) {
  return MayReplace(old, replacement, first_new) && old.shape() == replacement.shape();
}

// Sizes at run time go from operand to reader, and what takes a reader's place may not know them.
bool KnowsSizesLate(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->shape().has_dynamic_dims()) return true;
  }
  return false;
}

// Rules of broadcasts, reshapes and transposes, in the order in which they are tried.
void AddShapeRules(const AlgebraicSimplifierOptions& options, RuleSafety allowed, RuleSet& rules) {
  const bool fixed = options.is_layout_sensitive;
  const auto add = [&](std::span<const Rule> table) { rules.Add(table, allowed); };
  add(algsimp::ShapeRules());
  add(algsimp::BroadcastOfBroadcastRules(options.enable_sink_broadcast));
  if (options.enable_fold_transpose_into_scatter) add(algsimp::TransposeOfScatterRules());
  add(algsimp::TransposeRules());
  add(fixed ? algsimp::LaidOutMoveChainRules() : algsimp::MoveChainRules());
  if (!fixed && options.enable_hoist_transpose_of_reshape) add(algsimp::HoistTransposeRules());
  if (fixed) add(algsimp::LaidOutCopyRules());
  add(algsimp::TransposeOfCanonicalDotRules());
  if (options.supports_non_canonical_dots) add(algsimp::TransposeOfAnyDotRules());
  add(algsimp::LateTransposeRules());
  if (fixed) add(algsimp::LayoutRules());
  add(fixed ? algsimp::LaidOutTransposeOfBroadcastRules() : algsimp::TransposeOfBroadcastRules());
  add(algsimp::LateShapeRules());
  if (fixed) add(algsimp::ReshapeToBitcastRules());
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

AlgebraicSimplifier::AlgebraicSimplifier(Options options)
    : options_(options), max_runs_(options.run_to_fixed_point ? kMaxRuns : 1) {
  const RuleSafety allowed = options.exact ? kExact : kReassociate;
  const bool fixed = options.is_layout_sensitive;
  const auto add = [&](std::span<const Rule> rules) { rules_.Add(rules, allowed); };
  if (options.enable_sink_broadcast) add(algsimp::SinkBroadcastFirstRules());
  if (options.enable_fast_math) {
    add(algsimp::FastAddRules());
    add(algsimp::FastMultiplyRules());
    add(algsimp::FastFunctionRules());
  }
  if (options.enable_floats_are_real) add(algsimp::RealNumberRules());
  if (options.cudnn_batchnorm_forward_training_metadata == algsimp::kBatchNormTrainingTarget) {
    add(algsimp::VarianceFunctionRules());
    add(algsimp::VarianceMultiplyRules());
    add(algsimp::VarianceCompareRules());
  }
  add(algsimp::AddSubtractRules());
  add(algsimp::MultiplyDivideRules());
  if (options.enable_conv_add_multiply_reorder) add(algsimp::ConvAddMultiplyRules());
  if (options.executing_on_cpu && options.enable_sink_broadcast) {
    add(algsimp::CpuRules());
    if (options.enable_fast_math) add(algsimp::CpuComplexRules());
  }
  add(algsimp::QuotientRules());
  add(algsimp::FunctionRules());
  add(algsimp::LogicRules());
  if (options.minmax_propagate_nan) add(algsimp::NanPropagatingRules());
  add(algsimp::OrderRules());
  add(algsimp::ConvertRules());
  add(algsimp::StructureRules());
  AddShapeRules(options, allowed, rules_);
  add(algsimp::MovementRules());
  add(algsimp::SliceOfConcatRules(/*keeps_shared=*/options.exact));
  if (options.enable_dynamic_update_slice_to_pad_replacement) add(algsimp::UpdateToPadRules());
  add(algsimp::DynamicSliceRules());
  if (!fixed) add(algsimp::FreeDynamicSliceRules());
  if (options.enable_negative_padding_replacement) add(algsimp::NegativePaddingRules());
  if (!options.disable_dynamic_slice_to_slice_conversion) add(algsimp::DynamicSliceToSliceRules());
  add(algsimp::LateDynamicSliceRules());
  add(algsimp::ReduceRules());
  if (options.enable_scalar_multiply_reduction) add(algsimp::ScalarMultiplyRules());
  add(algsimp::ConvolutionRules());
  if (options.enable_folding_pad_into_convolution) add(algsimp::FoldPadRules());
  add(algsimp::CollectiveRules());
  add(algsimp::BitcastRules());
  add(algsimp::GatherScatterRules());
  add(algsimp::SmallGatherRules(options.very_small_gather_size));
  if (options.enable_sink_broadcast) {
    if (!fixed && !options.executing_on_cpu) add(algsimp::ChainedConvAddRules());
    add(algsimp::SinkBroadcastRules());
  }
  if (options.enable_conditional_simplification) add(algsimp::ConditionalRules());
  if (options.enable_remove_no_op_reduce_precision) add(algsimp::NoOpReducePrecisionRules());
  if (options.use_convert_constant_folding) add(algsimp::ConvertConstantRules());
  if (options.enable_window_reduce_to_reduce_replacement) add(algsimp::WindowToReduceRules());
  add(algsimp::WindowOfPadRules(/*only_small=*/options.exact));
  if (fixed) {
    rules_.set_accept(MayReplaceWithLayout);
    if (options.rewrite_no_op_bitcast_convert_to_bitcast)
      add(algsimp::BitcastConvertToBitcastRules());
    add(algsimp::LayoutReduceRules());
    if (options.enable_conv_simplification) add(algsimp::ConvolutionToDotRules());
    return;
  }
  rules_.set_accept(MayReplace);
  AddDotAndReduceRules(options, add);
  if (options.enable_window_reduce_to_reduce_replacement) add(algsimp::SliceOfRunningRules());
  add(algsimp::RunningRules());
  add(algsimp::FreeShapeRules());
  add(algsimp::FreeCopyRules());
  add(algsimp::SliceOfReshapeRules());
  if (options.rewrite_reshape_transpose_as_slice_concatenate) add(algsimp::SpaceToDepthRules());
  add(algsimp::FreeConcatRules());
  if (options.enable_conv_operand_swap) add(algsimp::ConvolutionSwapRules());
  add(algsimp::FreeConvolutionRules());
  add(algsimp::SumOfScattersRules());
  if (options.enable_broadcast_degenerate_dimension)
    add(algsimp::BroadcastDegenerateRules(options.enable_sink_broadcast));
}

absl::StatusOr<bool> AlgebraicSimplifier::Run(Module& module, PassContext& context) {
  const algsimp::ScopedDotChoices choices(
      {options_.associative_reordering_threshold,
       options_.raise_slice_and_reduce_through_dot_threshold,
       options_.enable_move_dot_param_to_rhs && !options_.is_layout_sensitive});
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (options_.exact && KnowsSizesLate(*computation)) continue;
    // Rules look at operands of operands, too, whose change alone does not call them again.
    bool rewritten = true;
    for (int i = 0; rewritten && i < max_runs_; ++i) {
      ASSIGN_OR_RETURN(rewritten, ApplyRules(*computation, rules_, context));
      changed |= rewritten;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AlgebraicSimplifier)

}  // namespace hlo
