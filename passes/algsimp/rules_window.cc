// Rules about running sums (windows that grow over a whole dimension) and about reductions that
// also give a place.
#include <algorithm>
#include <optional>

#include "lib/analysis/region.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

bool IsTrivialWindow(const WindowDim& dim) { return dim == WindowDim{}; }

// Position i of the result sees elements 0 to i.
bool IsRunningWindow(const WindowDim& dim, int64_t size) {
  return dim.size == size && dim.stride == 1 && dim.pad_low == size - 1 && dim.pad_high == 0 &&
         dim.base_dilation == 1 && dim.window_dilation == 1 && !dim.reversal;
}

// The dimensions of `op` along which its windows grow; none if there are other windows, or
// no such dimension.
std::optional<DimVec> RunningDims(const Instruction* op) {
  if (op->operand_count() != 2 || op->shape().has_dynamic_dims()) return std::nullopt;
  const Window& window = op->attrs<ReduceWindowAttrs>().window;
  DimVec running;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    if (IsTrivialWindow(window.dims[i])) continue;
    if (!IsRunningWindow(window.dims[i], op->operand(0)->shape().dim(static_cast<int>(i))))
      return std::nullopt;
    running.push_back(static_cast<int64_t>(i));
  }
  if (running.empty()) return std::nullopt;
  return running;
}

// slice(running reduction) of the last position  =>  reshape(reduce(x))
Instruction* SliceOfRunning(Instruction* slice, Rewriter& rewriter) {
  Instruction* window = slice->operand(0);
  if (window->opcode() != Opcode::kReduceWindow || !window->has_one_user()) return nullptr;
  const std::optional<DimVec> running = RunningDims(window);
  if (!running) return nullptr;
  const SliceRanges& ranges = slice->attrs<SliceAttrs>().slice;
  for (int i = 0; i < window->shape().rank(); ++i) {
    const SliceRange& range = ranges[static_cast<size_t>(i)];
    const int64_t size = window->shape().dim(i);
    const int64_t first = Contains(*running, i) ? size - 1 : 0;
    if (range.start != first || range.limit != size || range.stride != 1) return nullptr;
  }
  Instruction* whole =
      rewriter.Reduce(window->operand(0), window->operand(1), *running, window->to_apply());
  return rewriter.Reshape(whole, slice->shape().dims());
}

// The value of `type` that all elements of `x` have, seen through what only moves or converts; none
// if `x` comes from no broadcast of a constant.
std::optional<Literal> SplatThroughMoves(const Instruction* x, ElementType type) {
  constexpr OpcodeSet kMoves = {Opcode::kReshape, Opcode::kBitcast, Opcode::kSlice, Opcode::kCopy};
  std::vector<ElementType> types = {type};  // last conversion first
  bool broadcast = false;
  while (!x->IsConstant()) {
    if (x->opcode() == Opcode::kConvert) {
      types.push_back(x->shape().element_type());
    } else if (x->opcode() == Opcode::kBroadcast && x->operand(0)->shape().IsEffectiveScalar()) {
      broadcast = true;
    } else if (!kMoves.Has(x->opcode())) {
      return std::nullopt;
    }
    x = x->operand(0);
  }
  if (!broadcast || !x->shape().IsEffectiveScalar() || x->literal().is_elided())
    return std::nullopt;
  absl::StatusOr<Literal> value = x->literal().Reshaped(Shape::Scalar(x->shape().element_type()));
  while (value.ok() && !types.empty()) {
    value = value->Converted(types.back());
    types.pop_back();
  }
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

// A running sum of a constant c along dimension d  =>  c * convert(iota + 1)
Instruction* RunningSumOfSplat(Instruction* op, Rewriter& rewriter) {
  const std::optional<DimVec> running = RunningDims(op);
  if (!running || running->size() != 1 || CombinerOpcode(*op->to_apply()) != Opcode::kAdd ||
      !Match(op->operand(1), m::Zero()) || op->shape().element_type() == ElementType::kPred)
    return nullptr;
  const ElementType type = op->shape().element_type();
  std::optional<Literal> value = SplatThroughMoves(op->operand(0), type);
  if (!value) return nullptr;
  const ElementType counter = type == ElementType::kS64 ? type : ElementType::kS32;
  Instruction* places = rewriter.Iota(op->shape().WithElementType(counter), (*running)[0]);
  Instruction* count = rewriter.Add(places, SplatOf(rewriter, counter, 1, places));
  if (type != counter) count = rewriter.Convert(count, type);
  if (value->IsAll(1)) return count;
  return rewriter.Multiply(BroadcastLike(rewriter, rewriter.Constant(*std::move(value)), count),
                           count);
}

// ---- the largest or smallest element and its place ----

bool IsParameter(const Instruction* x, int64_t number) {
  return x->opcode() == Opcode::kParameter && x->parameter_number() == number;
}

bool Compares(const Instruction* x, int64_t a, int64_t b, ComparisonDirection direction) {
  return x->opcode() == Opcode::kCompare && x->attrs<CompareAttrs>().direction == direction &&
         IsParameter(x->operand(0), a) && IsParameter(x->operand(1), b);
}

// The comparison when `pred` says that the first value is taken: it wins, or it is NaN.
std::optional<ComparisonDirection> WinningDirection(const Instruction* pred) {
  for (const ComparisonDirection direction : {ComparisonDirection::kGt, ComparisonDirection::kLt}) {
    if (Compares(pred, 0, 2, direction)) return direction;
    if (pred->opcode() != Opcode::kOr) continue;
    for (int side = 0; side < 2; ++side) {
      if (Compares(pred->operand(side), 0, 2, direction) &&
          Compares(pred->operand(1 - side), 0, 0, ComparisonDirection::kNe))
        return direction;
    }
  }
  return std::nullopt;
}

bool IsNan(const Instruction* x) { return Compares(x, 0, 0, ComparisonDirection::kNe); }

// Whether two predicates that give one direction are the same also in what they say of NaN.
bool SayTheSame(const Instruction* a, const Instruction* b) {
  if (a == b) return true;
  const auto direction = WinningDirection(a);
  const auto looks_at_nan = [](const Instruction* x) {
    return x->opcode() == Opcode::kOr && (IsNan(x->operand(0)) || IsNan(x->operand(1)));
  };
  return direction && direction == WinningDirection(b) && looks_at_nan(a) == looks_at_nan(b);
}

// The same with the place chosen in two steps:
//   value select(a >= b, a, b), place select(a == b, minimum(i, j), select(a >= b, i, j))
std::optional<ComparisonDirection> ArgReductionByMinimum(const Instruction& value,
                                                         const Instruction& place) {
  const Instruction* wins = value.operand(0);
  const Instruction* smaller = place.operand(1);
  const Instruction* winner = place.operand(2);
  const bool is_least =
      smaller->opcode() == Opcode::kMinimum &&
      ((IsParameter(smaller->operand(0), 1) && IsParameter(smaller->operand(1), 3)) ||
       (IsParameter(smaller->operand(0), 3) && IsParameter(smaller->operand(1), 1)));
  if (!is_least || !Compares(place.operand(0), 0, 2, ComparisonDirection::kEq) ||
      winner->opcode() != Opcode::kSelect || winner->operand(0) != wins ||
      !IsParameter(winner->operand(1), 1) || !IsParameter(winner->operand(2), 3))
    return std::nullopt;
  if (Compares(wins, 0, 2, ComparisonDirection::kGe)) return ComparisonDirection::kGt;
  if (Compares(wins, 0, 2, ComparisonDirection::kLe)) return ComparisonDirection::kLt;
  return std::nullopt;
}

// (value, place) x (value, place) -> the larger (kGt) or smaller (kLt) value with its place, the
// smaller place of equal values.
std::optional<ComparisonDirection> ArgReduction(const Computation& combiner) {
  const Instruction* root = combiner.root();
  if (combiner.parameter_count() != 4 || root->opcode() != Opcode::kTuple ||
      root->operand_count() != 2)
    return std::nullopt;
  const Instruction* value = root->operand(0);
  const Instruction* place = root->operand(1);
  if (value->opcode() != Opcode::kSelect || place->opcode() != Opcode::kSelect ||
      !IsParameter(value->operand(1), 0) || !IsParameter(value->operand(2), 2))
    return std::nullopt;
  if (!IsParameter(place->operand(1), 1) || !IsParameter(place->operand(2), 3))
    return ArgReductionByMinimum(*value, *place);
  const Instruction* wins = value->operand(0);
  const std::optional<ComparisonDirection> direction = WinningDirection(wins);
  const Instruction* stays = place->operand(0);
  if (!direction || stays->opcode() != Opcode::kOr) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const Instruction* tie = stays->operand(1 - side);
    if (!SayTheSame(stays->operand(side), wins) || tie->opcode() != Opcode::kAnd) continue;
    for (int k = 0; k < 2; ++k) {
      if (Compares(tie->operand(k), 0, 2, ComparisonDirection::kEq) &&
          Compares(tie->operand(1 - k), 1, 3, ComparisonDirection::kLt))
        return direction;
    }
  }
  return std::nullopt;
}

// Which of (x, places) a reduction from (worst value, 0) leaves: the best value, and its place.
std::optional<ComparisonDirection> MatchBest(const Instruction* reduce) {
  if (reduce->operand_count() != 4 || reduce->shape().has_dynamic_dims() ||
      !Match(reduce->operand(3), m::Zero()))
    return std::nullopt;
  const std::optional<ComparisonDirection> direction = ArgReduction(*reduce->to_apply());
  if (!direction ||
      !IsIdentityOf(*direction == ComparisonDirection::kGt ? Opcode::kMaximum : Opcode::kMinimum,
                    *reduce->operand(2)))
    return std::nullopt;
  return direction;
}

// The dimension along which the places count; -1: none.
int64_t DimensionOfPlaces(const Instruction* places) {
  if (places->opcode() == Opcode::kIota) return places->attrs<IotaAttrs>().iota_dimension;
  if (places->opcode() == Opcode::kBroadcast && places->operand(0)->opcode() == Opcode::kIota &&
      places->operand(0)->shape().rank() == 1)
    return places->attrs<BroadcastAttrs>().dimensions[0];
  return -1;
}

// The same of (x, iota along a reduced dimension).
std::optional<ComparisonDirection> MatchArgReduce(const Instruction* reduce) {
  if (reduce->operand_count() != 4) return std::nullopt;
  const DimVec& dims = reduce->attrs<ReduceAttrs>().dimensions;
  if (!Contains(dims, DimensionOfPlaces(reduce->operand(1)))) return std::nullopt;
  return MatchBest(reduce);
}

// arg-max(x) over dimensions of size 1  =>  (reshape(x), 0)
Instruction* ArgReduceOfOnes(Instruction* reduce, Rewriter& rewriter) {
  if (!MatchBest(reduce)) return nullptr;
  Instruction *x = reduce->operand(0), *places = reduce->operand(1);
  const Shape result = reduce->shape().element(0);
  const bool is_zero = Match(places, m::Zero()) || MatchArgReduce(reduce);
  if (!is_zero || x->shape().element_count() != result.element_count()) return nullptr;
  if (SameDimensions(x->shape(), result)) return rewriter.Tuple({x, places});
  return rewriter.Tuple(
      {rewriter.Reshape(x, result.dims()), rewriter.Reshape(places, result.dims())});
}

// arg-max(broadcast(c))  =>  (broadcast(c), 0)
Instruction* ArgReduceOfSplat(Instruction* reduce, Rewriter& rewriter) {
  if (!MatchArgReduce(reduce) || reduce->operand(0)->shape().IsZeroSized()) return nullptr;
  const Instruction* splat = ScalarConstant(reduce->operand(0));
  if (splat == nullptr || reduce->operand(0)->opcode() != Opcode::kBroadcast) return nullptr;
  const Shape values = reduce->shape().element(0);
  const Shape places = reduce->shape().element(1);
  Instruction* value =
      rewriter.Constant(splat->literal().Reshaped(Shape::Scalar(values.element_type())));
  Instruction* zero = rewriter.Constant(Literal::Zero(places.element_type()));
  if (values.rank() > 0) {
    value = rewriter.Broadcast(value, values.dims(), {});
    zero = rewriter.Broadcast(zero, places.dims(), {});
  }
  return rewriter.Tuple({value, zero});
}

// max(x), where arg-max(x) over the same dimensions is computed as well  =>  its value
Instruction* MaxBesideArgMax(Instruction* reduce, Rewriter& rewriter) {
  if (reduce->operand_count() != 2 || !reduce->shape().IsArray()) return nullptr;
  const std::optional<Opcode> opcode = CombinerOpcode(*reduce->to_apply());
  if ((opcode != Opcode::kMaximum && opcode != Opcode::kMinimum) ||
      !IsIdentityOf(*opcode, *reduce->operand(1)))
    return nullptr;
  const auto wanted =
      opcode == Opcode::kMaximum ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  for (Instruction* other : reduce->operand(0)->users()) {
    if (other->opcode() == Opcode::kReduce && other->operand_count() == 4 &&
        other->operand(0) == reduce->operand(0) && other->attrs_ptr() == reduce->attrs_ptr() &&
        other->has_uses() && MatchArgReduce(other) == wanted)
      return rewriter.GetTupleElement(other, 0);
  }
  return nullptr;
}

constexpr Rule kSliceOfRunningRules[] = {
    {"slice-of-running-reduction", Opcode::kSlice, kReassociate, SliceOfRunning}};
constexpr Rule kRunningRules[] = {
    {"running-sum-of-splat", Opcode::kReduceWindow, kReassociate, RunningSumOfSplat},
    {"arg-reduce-of-splat", Opcode::kReduce, kExceptSpecials, ArgReduceOfSplat},
    {"arg-reduce-of-ones", Opcode::kReduce, kExceptSpecials, ArgReduceOfOnes},
    {"reduce-beside-arg-reduce", Opcode::kReduce, kExceptSpecials, MaxBesideArgMax},
};

}  // namespace

std::span<const Rule> SliceOfRunningRules() { return kSliceOfRunningRules; }
std::span<const Rule> RunningRules() { return kRunningRules; }

}  // namespace hlo::algsimp
