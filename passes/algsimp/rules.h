// The rules of the algebraic simplifier, by family, and what they share. See README.md
// here for the laws.
#pragma once

#include <optional>
#include <span>

#include "lib/match/pattern.h"
#include "lib/support/contains.h"
#include "passes/rewrite.h"

namespace hlo::algsimp {

// Rules that hold whatever the layouts.
std::span<const Rule> AddSubtractRules();
std::span<const Rule> MultiplyDivideRules();
std::span<const Rule> FunctionRules();   // exp, log, power, sqrt, …
std::span<const Rule> LogicRules();      // and, or, xor, not, compare, select
std::span<const Rule> OrderRules();      // min, max, clamp
std::span<const Rule> ConvertRules();    // convert, bitcast-convert, complex, constants
std::span<const Rule> StructureRules();  // tuples, map, sort, copy, custom-call
std::span<const Rule> ShapeRules();      // broadcast, reshape, reverse
std::span<const Rule> LateShapeRules();  // reshape, after those that undo what is below it
std::span<const Rule> TransposeRules();
std::span<const Rule> LateTransposeRules();  // after those of dots
std::span<const Rule> MovementRules();       // slice, concatenate, pad
std::span<const Rule> SliceOfConcatRules(bool keeps_shared);
std::span<const Rule> DynamicSliceRules();
std::span<const Rule> LateDynamicSliceRules();  // after DynamicSliceToSliceRules
std::span<const Rule> ReduceRules();
std::span<const Rule> LayoutReduceRules();  // for fixed layouts
std::span<const Rule> ConvolutionRules();
std::span<const Rule> CollectiveRules();  // collectives of constants, barriers
std::span<const Rule> BitcastRules();
std::span<const Rule> GatherScatterRules();
// Rules that look at dimensions and forget layouts.
std::span<const Rule> FreeShapeRules();
std::span<const Rule> FreeCopyRules();
std::span<const Rule> MoveChainRules();  // several reshapes and transposes at once
std::span<const Rule> TransposeOfBroadcastRules();
std::span<const Rule> SliceOfReshapeRules();
std::span<const Rule> FreeDynamicSliceRules();
std::span<const Rule> FreeReduceRules();
std::span<const Rule> ReduceOfReduceRules();
std::span<const Rule> ReduceOfBroadcastRules();
std::span<const Rule> FreeConcatRules();
std::span<const Rule> DotOfNothingRules();
std::span<const Rule> ReorderedDotRules();
std::span<const Rule> DotRules();
std::span<const Rule> FreeConvolutionRules();
std::span<const Rule> SumOfScattersRules();
std::span<const Rule> RunningRules();  // running sums, arg-max
// Rules for fixed layouts.
std::span<const Rule> LayoutRules();
std::span<const Rule> LaidOutCopyRules();
std::span<const Rule> LaidOutMoveChainRules();
std::span<const Rule> LaidOutTransposeOfBroadcastRules();
std::span<const Rule> ReshapeToBitcastRules();
std::span<const Rule> ConvolutionToDotRules();
std::span<const Rule> BitcastConvertToBitcastRules();
// Rules for options.
std::span<const Rule> FastAddRules();
std::span<const Rule> FastMultiplyRules();
std::span<const Rule> FastFunctionRules();
std::span<const Rule> RealNumberRules();  // floats taken for real numbers
// kBatchNormTrainingTarget gives a variance.
std::span<const Rule> VarianceFunctionRules();
std::span<const Rule> VarianceMultiplyRules();
std::span<const Rule> VarianceCompareRules();
std::span<const Rule> QuotientRules();  // divide, after CpuRules
std::span<const Rule> CpuComplexRules();
std::span<const Rule> NanPropagatingRules();
std::span<const Rule> CpuRules();
std::span<const Rule> SinkBroadcastRules();
std::span<const Rule> SinkBroadcastFirstRules();
std::span<const Rule> BroadcastOfBroadcastRules(bool sink);  // sink: with the rules above
std::span<const Rule> BroadcastDegenerateRules(bool sink);
std::span<const Rule> NegativePaddingRules();
std::span<const Rule> UpdateToPadRules();
std::span<const Rule> WindowToReduceRules();
std::span<const Rule> WindowOfPadRules(bool only_small);  // after those
std::span<const Rule> SliceOfRunningRules();
std::span<const Rule> FoldPadRules();
std::span<const Rule> ConvolutionSwapRules();
std::span<const Rule> SmallGatherRules(int64_t size);  // of vectors of at most `size` elements
std::span<const Rule> ConditionalRules();
std::span<const Rule> NoOpReducePrecisionRules();
std::span<const Rule> ConvertConstantRules();
std::span<const Rule> DynamicSliceToSliceRules();
std::span<const Rule> ReduceOfTransposeRules(bool of_all_users);
std::span<const Rule> ReduceOfReshapeRules(bool of_all_users);
std::span<const Rule> ReduceOfConcatRules(bool of_all_shapes);
std::span<const Rule> ReduceOfDotRules();
std::span<const Rule> AssociativeDotRules();   // with DotChoices of dot_dims.h
std::span<const Rule> RaiseThroughDotRules();  // the same
std::span<const Rule> ParameterToRhsRules();
std::span<const Rule> ScalarMultiplyRules();
std::span<const Rule> ConvAddMultiplyRules();
std::span<const Rule> ChainedConvAddRules();
std::span<const Rule> DotStrengthRules();
std::span<const Rule> DotOfVectorRules();
std::span<const Rule> SpaceToDepthRules();
std::span<const Rule> DotToMultiplyRules();
std::span<const Rule> MoreDotsToMultiplyRules();
std::span<const Rule> TransposeOfDotRules();           // of matrices: dot-simplifier's
std::span<const Rule> TransposeOfCanonicalDotRules();  // of batches of them
std::span<const Rule> TransposeOfAnyDotRules();        // with supports_non_canonical_dots
std::span<const Rule> TransposeOfScatterRules();
std::span<const Rule> HoistTransposeRules();

// ---- questions ----

// The constant with one element that `x` is or broadcasts; null if it is neither.
Instruction* ScalarConstant(Instruction* x);
inline bool IsNoConstant(const Instruction& x) { return !x.IsConstant(); }
// Whether `x` is a constant or broadcasts a constant with one element.
bool IsConstantOrSplat(const Instruction* x);
// `opcode` of two constants, or of two broadcast ones, broadcast; null for other pairs.
Instruction* CombineConstants(Rewriter& rewriter, Opcode opcode, Instruction* a, Instruction* b);
// A value of the dimensions and layout of `like` and the type of `scalar`, which has one element.
Instruction* BroadcastLike(Rewriter& rewriter, Instruction* scalar, const Instruction* like);
// `x` broadcast as `broadcast` does it, which reads an operand of these dimensions.
Instruction* BroadcastAs(Rewriter& rewriter, Instruction* x, const Instruction* broadcast);
// A constant of `like`'s dimensions and another type: pred and the like.
Instruction* SplatOf(Rewriter& rewriter, ElementType type, double value, const Instruction* like);

bool IsIntegral(const Instruction* x);  // not pred
bool IsFloating(const Instruction* x);
// The custom call whose third result is a variance.
inline constexpr std::string_view kBatchNormTrainingTarget =
    "__cudnn$batchNormalizationForwardTraining";
// x >= 0 for every element, never NaN or -0 where that matters; `variances`: those of the custom
// call above are so, too.
bool IsNonNegative(const Instruction* x, bool variances = false);
// The exponent k when all elements of the constant or splat are 2^k, k >= 0, of an integer type.
std::optional<int64_t> PowerOfTwo(Instruction* x);

// Positions of dimensions that only one of the shapes has, all of size 1: the dimensions that a
// reshape inserts into `from` (indices into `to`) or removes from it (indices into `from`). None if
// it does anything else.
struct DegenerateReshape {
  DimVec inserted;
  DimVec removed;
};
std::optional<DegenerateReshape> MatchDegenerate(const Instruction* reshape);
// For each dimension of `from` the one of `to` that holds the same, or -1 if a reshape changes it.
DimVec UnmodifiedDims(Shape from, Shape to);

bool HasSize1Only(Shape shape, const DimVec& dims);
DimVec DimsWithout(absl::Span<const int64_t> dims, absl::Span<const int64_t> positions);

}  // namespace hlo::algsimp
