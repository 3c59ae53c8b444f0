// Rules that move work from one operand of a dot to the other, or from one dot to another.

#include "lib/analysis/operations.h"
#include "lib/types/dim_lists.h"
#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

Shape DotShape(const DotAttrs& attrs, Shape lhs, Shape rhs, ElementType type) {
  const DotDims from = OperandDims(attrs, lhs, rhs);
  DimVec sizes;
  for (size_t i = 0; i < from.lhs.size(); ++i) {
    sizes.push_back(from.lhs[i] >= 0 ? lhs.dim(static_cast<int>(from.lhs[i]))
                                     : rhs.dim(static_cast<int>(from.rhs[i])));
  }
  return Shape::Array(type, sizes);
}

Instruction* MakeDot(Rewriter& rewriter, Instruction* lhs, Instruction* rhs, DotAttrs attrs,
                     ElementType type) {
  const Shape shape = DotShape(attrs, lhs->shape(), rhs->shape(), type);
  return rewriter.OpWithShape(Opcode::kDot, shape, {lhs, rhs}, AttrsPtr::Make(std::move(attrs)));
}

// ---- products of three factors ----

// A factor with a label for each of its dimensions. Dimensions that a product runs over together
// have one label.
struct Factor {
  Instruction* x = nullptr;  // null: not built yet
  Shape shape;
  DimVec labels;
};

int64_t PlaceOf(const Factor& factor, int64_t label) {
  return absl::c_find(factor.labels, label) - factor.labels.begin();
}

// Labels of the dimensions at `at`.
DimVec LabelsAt(const Factor& factor, const DimVec& at) {
  DimVec labels;
  for (const int64_t dim : at) labels.push_back(factor.labels[static_cast<size_t>(dim)]);
  return labels;
}

// Labels for `other`, of which `known` has those that `attrs` pairs.
void LabelOther(const DotAttrs& attrs, bool known_is_lhs, const Factor& known, Factor& other,
                int64_t& next) {
  other.labels.assign(static_cast<size_t>(other.shape.rank()), -1);
  const auto pair = [&](const DimVec& lhs, const DimVec& rhs) {
    const DimVec& from = known_is_lhs ? lhs : rhs;
    const DimVec& to = known_is_lhs ? rhs : lhs;
    for (size_t i = 0; i < from.size(); ++i)
      other.labels[static_cast<size_t>(to[i])] = known.labels[static_cast<size_t>(from[i])];
  };
  pair(attrs.lhs_batch_dims, attrs.rhs_batch_dims);
  pair(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
  for (int64_t& label : other.labels) label = label < 0 ? next++ : label;
}

// The labels of the result of a dot.
DimVec ResultLabels(const DotAttrs& attrs, const Factor& lhs, const Factor& rhs) {
  const DotDims from = OperandDims(attrs, lhs.shape, rhs.shape);
  DimVec labels;
  for (size_t i = 0; i < from.lhs.size(); ++i) {
    labels.push_back(from.lhs[i] >= 0 ? lhs.labels[static_cast<size_t>(from.lhs[i])]
                                      : rhs.labels[static_cast<size_t>(from.rhs[i])]);
  }
  return labels;
}

// The dimensions of a dot that runs over `batch` and sums over `contracting`, labels that both
// factors have; others of them are passed over.
DotAttrs AttrsFor(const DotAttrs& like, const Factor& lhs, const Factor& rhs, const DimVec& batch,
                  const DimVec& contracting) {
  DotAttrs attrs = like;
  const auto add = [&](const DimVec& labels, DimVec& lhs_dims, DimVec& rhs_dims) {
    lhs_dims.clear();
    rhs_dims.clear();
    for (const int64_t label : labels) {
      if (!Contains(lhs.labels, label) || !Contains(rhs.labels, label) ||
          Contains(lhs_dims, PlaceOf(lhs, label)))
        continue;
      lhs_dims.push_back(PlaceOf(lhs, label));
      rhs_dims.push_back(PlaceOf(rhs, label));
    }
  };
  add(batch, attrs.lhs_batch_dims, attrs.rhs_batch_dims);
  add(contracting, attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
  return attrs;
}

// Whether products of `x` with others of `type` may be made before or after theirs.
bool IsOfKind(const Instruction* x, ElementType type) {
  const ElementType own = x->shape().element_type();
  return own == type || (IsFloat(own) && IsFloat(type)) || (IsInteger(own) && IsInteger(type));
}

// dot(dot(a, b), c)  =>  dot(a, dot(b, c)), and dot(a, dot(b, c))  =>  dot(dot(a, b), c), when that
//     takes fewer operations; transposed, when batch dimensions of the two dots differ in order
Instruction* DotOfDot(Instruction* outer, Rewriter& rewriter) {
  const bool inner_is_lhs = outer->operand(0)->opcode() == Opcode::kDot;
  Instruction* inner = outer->operand(inner_is_lhs ? 0 : 1);
  if (inner->opcode() != Opcode::kDot || HasDynamicSizes(outer) || HasDynamicSizes(inner) ||
      outer->shape().IsZeroSized() || IsLeftUnreduced(*outer))
    return nullptr;
  const DotAttrs& inner_attrs = DimsOf(inner);
  const DotAttrs& outer_attrs = DimsOf(outer);
  const ElementType type = outer->shape().element_type();
  // What the inner one rounds, or cuts off, it would not any more.
  if (inner->shape().element_type() != type || IsPred(type) || !IsOfKind(inner->operand(0), type) ||
      !IsOfKind(inner->operand(1), type) || !IsOfKind(outer->operand(inner_is_lhs ? 1 : 0), type))
    return nullptr;
  int64_t next = 0;
  Factor first{inner->operand(0), inner->operand(0)->shape(), {}};
  for (int i = 0; i < first.shape.rank(); ++i) first.labels.push_back(next++);
  Factor second{inner->operand(1), inner->operand(1)->shape(), {}};
  LabelOther(inner_attrs, /*known_is_lhs=*/true, first, second, next);
  const Factor pair{inner, inner->shape(), ResultLabels(inner_attrs, first, second)};
  Factor third{
      outer->operand(inner_is_lhs ? 1 : 0), outer->operand(inner_is_lhs ? 1 : 0)->shape(), {}};
  LabelOther(outer_attrs, inner_is_lhs, pair, third, next);
  const DimVec outer_batch =
      LabelsAt(pair, inner_is_lhs ? outer_attrs.lhs_batch_dims : outer_attrs.rhs_batch_dims);
  const DimVec outer_summed = LabelsAt(
      pair, inner_is_lhs ? outer_attrs.lhs_contracting_dims : outer_attrs.rhs_contracting_dims);
  const DimVec inner_batch = LabelsAt(first, inner_attrs.lhs_batch_dims);
  const DimVec inner_summed = LabelsAt(first, inner_attrs.lhs_contracting_dims);
  for (const int64_t label : outer_summed) {
    if (Contains(inner_batch, label)) return nullptr;  // of three factors at once
  }
  // The new inner dot is of `near` and `third`, the new outer one of `far` and that.
  const Factor& near = inner_is_lhs ? second : first;
  const Factor& far = inner_is_lhs ? first : second;
  const auto sides = [&](const Factor& of_lhs, const Factor& other) {
    return inner_is_lhs ? std::pair(&of_lhs, &other) : std::pair(&other, &of_lhs);
  };
  const auto [inner_lhs, inner_rhs] = sides(near, third);
  const DotAttrs new_inner_attrs =
      AttrsFor(outer_attrs, *inner_lhs, *inner_rhs, outer_batch, outer_summed);
  Factor new_inner;
  new_inner.shape = DotShape(new_inner_attrs, inner_lhs->shape, inner_rhs->shape, type);
  new_inner.labels = ResultLabels(new_inner_attrs, *inner_lhs, *inner_rhs);
  const auto [outer_lhs, outer_rhs] = sides(far, new_inner);
  const DotAttrs new_outer_attrs = AttrsFor(
      outer_attrs, *outer_lhs, *outer_rhs,
      inner_is_lhs ? Joined({inner_batch, outer_batch}) : Joined({outer_batch, inner_batch}),
      inner_is_lhs ? Joined({inner_summed, outer_summed}) : Joined({outer_summed, inner_summed}));
  const double old_flops = DotFlops(inner_attrs, first.shape, inner->shape()) +
                           DotFlops(outer_attrs, outer->operand(0)->shape(), outer->shape());
  const double new_flops = DotFlops(new_inner_attrs, inner_lhs->shape, new_inner.shape) +
                           DotFlops(new_outer_attrs, outer_lhs->shape, outer->shape());
  if (old_flops <= new_flops * CurrentDotChoices().associative_reordering_threshold) return nullptr;
  const DimVec wanted = inner_is_lhs ? ResultLabels(outer_attrs, pair, third)
                                     : ResultLabels(outer_attrs, third, pair);
  Factor result;
  result.labels = ResultLabels(new_outer_attrs, *outer_lhs, *outer_rhs);
  Instruction* product = MakeDot(rewriter, inner_lhs->x, inner_rhs->x, new_inner_attrs, type);
  product = inner_is_lhs ? MakeDot(rewriter, far.x, product, new_outer_attrs, type)
                         : MakeDot(rewriter, product, far.x, new_outer_attrs, type);
  if (result.labels == wanted) return product;
  DimVec order;
  for (const int64_t label : wanted) order.push_back(PlaceOf(result, label));
  return rewriter.Transpose(product, order);
}

// ---- what is done to an operand along contracting dimensions, done to the other one ----

// A dot seen from the operand that changes.
struct DotSides {
  Instruction* dot;
  int from;  // the operand with the operation
  Instruction* operation() const { return dot->operand(from); }
  Instruction* other() const { return dot->operand(1 - from); }
  const DimVec& own_contracting() const {
    return from == 0 ? DimsOf(dot).lhs_contracting_dims : DimsOf(dot).rhs_contracting_dims;
  }
  const DimVec& other_contracting() const {
    return from == 0 ? DimsOf(dot).rhs_contracting_dims : DimsOf(dot).lhs_contracting_dims;
  }
  // The dimension of the other operand that meets `dim`; -1 if none is contracted with it.
  int64_t Meets(int64_t dim) const {
    const DimVec& own = own_contracting();
    const auto at = absl::c_find(own, dim);
    return at == own.end() ? -1 : other_contracting()[static_cast<size_t>(at - own.begin())];
  }
};

Instruction* DotWith(Rewriter& rewriter, const DotSides& sides, Instruction* own,
                     Instruction* other, DotAttrs attrs) {
  if (sides.from == 1) std::swap(own, other);
  return MakeDot(rewriter, own, other, std::move(attrs), sides.dot->shape().element_type());
}

// Whether a dot of `attrs` with `own` and `other` takes fewer operations by the threshold, which is
// twice as high when there are more instructions.
bool SavesEnough(const DotSides& sides, const DotAttrs& attrs, Shape own, Shape other,
                 bool adds_instruction) {
  const Instruction* dot = sides.dot;
  const Shape lhs = sides.from == 0 ? own : other;
  const Shape result = DotShape(attrs, lhs, sides.from == 0 ? other : own, own.element_type());
  const double threshold =
      CurrentDotChoices().associative_reordering_threshold * (adds_instruction ? 2.0 : 1.0);
  return DotFlops(DimsOf(dot), dot->operand(0)->shape(), dot->shape()) >
         threshold * DotFlops(attrs, lhs, result);
}

// dot(reverse(x), y)  =>  dot(x, reverse(y)), when y has fewer elements
Instruction* MoveReverse(const DotSides& sides, Rewriter& rewriter) {
  const Instruction* reverse = sides.operation();
  const double ratio = static_cast<double>(reverse->shape().element_count()) /
                       static_cast<double>(sides.other()->shape().element_count());
  // Of operands of one size the reverse would go back and forth.
  if (ratio <= 1 || ratio < CurrentDotChoices().associative_reordering_threshold) return nullptr;
  DimVec moved, left;
  for (const int64_t dim : reverse->attrs<ReverseAttrs>().dimensions) {
    const int64_t to = sides.Meets(dim);
    if (to < 0) {
      left.push_back(dim);
    } else {
      moved.push_back(to);
    }
  }
  if (moved.empty()) return nullptr;
  Instruction* own = reverse->operand(0);
  if (!left.empty()) own = rewriter.Reverse(own, left);
  return DotWith(rewriter, sides, own, rewriter.Reverse(sides.other(), moved), DimsOf(sides.dot));
}

// dot(pad(x, 0), y)  =>  dot(x, slice(y)), for padding between and around what is contracted
Instruction* MovePad(const DotSides& sides, Rewriter& rewriter) {
  const Instruction* pad = sides.operation();
  if (!Match(pad->operand(1), m::Zero())) return nullptr;
  const Shape other = sides.other()->shape();
  PaddingConfig left = pad->attrs<PadAttrs>().padding;
  DimVec starts(static_cast<size_t>(other.rank()), 0);
  DimVec limits(other.dims().begin(), other.dims().end());
  DimVec strides(static_cast<size_t>(other.rank()), 1);
  DimVec own_sizes(pad->shape().dims().begin(), pad->shape().dims().end());
  DimVec other_sizes = limits;
  bool moves = false;
  for (const int64_t dim : sides.own_contracting()) {
    PaddingDim& at = left.dims[static_cast<size_t>(dim)];
    const auto to = static_cast<size_t>(sides.Meets(dim));
    if (at == PaddingDim{} || at.low < 0 || at.high < 0) continue;
    starts[to] = at.low;
    limits[to] -= at.high;
    strides[to] = 1 + at.interior;
    own_sizes[static_cast<size_t>(dim)] = pad->operand(0)->shape().dim(static_cast<int>(dim));
    other_sizes[to] = own_sizes[static_cast<size_t>(dim)];
    at = PaddingDim{};
    moves = true;
  }
  if (!moves) return nullptr;
  const bool pads =
      absl::c_any_of(left.dims, [](const PaddingDim& dim) { return dim != PaddingDim{}; });
  if (!SavesEnough(sides, DimsOf(sides.dot), pad->shape().WithDimensions(own_sizes),
                   other.WithDimensions(other_sizes), pads))
    return nullptr;
  Instruction* own = pad->operand(0);
  if (pads) own = rewriter.Pad(own, pad->operand(1), left);
  return DotWith(rewriter, sides, own, rewriter.Slice(sides.other(), starts, limits, strides),
                 DimsOf(sides.dot));
}

// The numbers of `dims` when `removed` are gone.
DimVec After(const DimVec& dims, const DimVec& removed) {
  DimVec result;
  for (const int64_t dim : dims) {
    if (Contains(removed, dim)) continue;
    result.push_back(dim - absl::c_count_if(removed, [&](int64_t gone) { return gone < dim; }));
  }
  return result;
}

// dot(broadcast(x), y)  =>  dot(x, sum(y)), where the broadcast added what is contracted
Instruction* MoveBroadcast(const DotSides& sides, Rewriter& rewriter) {
  const Instruction* broadcast = sides.operation();
  const DimVec& kept = broadcast->attrs<BroadcastAttrs>().dimensions;
  DimVec own_gone, other_gone;
  for (const int64_t dim : sides.own_contracting()) {
    if (Contains(kept, dim)) continue;
    own_gone.push_back(dim);
    other_gone.push_back(sides.Meets(dim));
  }
  const ElementType type = sides.other()->shape().element_type();
  // The sum must hold what the dot holds.
  if (own_gone.empty() || IsPred(type) || type != sides.dot->shape().element_type() ||
      !IsOfKind(broadcast, type))
    return nullptr;
  DotAttrs attrs = DimsOf(sides.dot);
  const DimVec& lhs_gone = sides.from == 0 ? own_gone : other_gone;
  const DimVec& rhs_gone = sides.from == 0 ? other_gone : own_gone;
  attrs.lhs_batch_dims = After(attrs.lhs_batch_dims, lhs_gone);
  attrs.lhs_contracting_dims = After(attrs.lhs_contracting_dims, lhs_gone);
  attrs.rhs_batch_dims = After(attrs.rhs_batch_dims, rhs_gone);
  attrs.rhs_contracting_dims = After(attrs.rhs_contracting_dims, rhs_gone);
  const DimVec own_sizes = DimsWithout(broadcast->shape().dims(), own_gone);
  const DimVec other_sizes = DimsWithout(sides.other()->shape().dims(), other_gone);
  const Shape own_shape = broadcast->shape().WithDimensions(own_sizes);
  const DimVec places = After(kept, own_gone);
  const bool broadcasts =
      !SameDimensions(broadcast->operand(0)->shape(), own_shape) || !absl::c_is_sorted(places);
  if (!SavesEnough(sides, attrs, own_shape, sides.other()->shape().WithDimensions(other_sizes),
                   broadcasts))
    return nullptr;
  Instruction* own = broadcast->operand(0);
  if (broadcasts) own = rewriter.Broadcast(own, own_sizes, places);
  absl::c_sort(other_gone);
  Instruction* sum =
      rewriter.Reduce(sides.other(), rewriter.Constant(Literal::Zero(type)), other_gone,
                      ScalarComputation(rewriter.module(), Opcode::kAdd, type));
  return DotWith(rewriter, sides, own, sum, std::move(attrs));
}

Instruction* DotOfMirrored(Instruction* dot, Rewriter& rewriter) {
  if (HasDynamicSizes(dot) || dot->shape().IsZeroSized() || IsLeftUnreduced(*dot)) return nullptr;
  constexpr OpcodeSet kMirrored = {Opcode::kBroadcast, Opcode::kPad, Opcode::kReverse};
  const int from = kMirrored.Has(dot->operand(0)->opcode()) ? 0 : 1;
  const DotSides sides{dot, from};
  const Opcode opcode = sides.operation()->opcode();
  if (opcode == Opcode::kReverse) return MoveReverse(sides, rewriter);
  if (opcode == Opcode::kPad) return MovePad(sides, rewriter);
  return opcode == Opcode::kBroadcast ? MoveBroadcast(sides, rewriter) : nullptr;
}

// ---- without options ----

// dot(reshape(transpose(x)), c), where the reshape makes the contracted dimension of several and
//     the transpose changes only their order  =>  dot(reshape(x), reshape(transpose(reshape(c))))
Instruction* DotOfReorderedSum(Instruction* dot, Rewriter& rewriter) {
  const int side = dot->operand(0)->IsConstant() ? 1 : 0;
  Instruction *reshape = dot->operand(side), *constant = dot->operand(1 - side);
  Instruction *transpose, *x;
  if (HasDynamicSizes(dot) || IsLeftUnreduced(*dot) || !constant->IsConstant() ||
      reshape->shape().IsZeroSized() || DimsOf(dot).lhs_contracting_dims.size() != 1 ||
      !Match(reshape, m::Reshape(m::Transpose(&transpose, m::Any(&x)))))
    return nullptr;
  const DotSides sides{dot, side};
  const DimVec unmodified = UnmodifiedDims(transpose->shape(), reshape->shape());
  DimVec joined;  // dimensions of the transpose that become the contracted one
  for (size_t i = 0; i < unmodified.size(); ++i) {
    if (unmodified[i] < 0) joined.push_back(static_cast<int64_t>(i));
    if (unmodified[i] == sides.own_contracting()[0]) return nullptr;
  }
  const auto left_alone = static_cast<int64_t>(unmodified.size() - joined.size());
  if (joined.empty() || left_alone != reshape->shape().rank() - 1 ||
      joined.back() - joined.front() + 1 != static_cast<int64_t>(joined.size()))
    return nullptr;
  const DimVec& order = transpose->attrs<TransposeAttrs>().dimensions;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i) && !Contains(joined, static_cast<int64_t>(i)))
      return nullptr;
  }
  const DimVec inverse = InversePermutation(order);
  const int64_t at = sides.other_contracting()[0];
  DimVec split, permutation;  // of the constant, its contracted dimension being several
  for (int64_t dim = 0; dim < constant->shape().rank(); ++dim) {
    const auto more = static_cast<int64_t>(joined.size()) - 1;
    if (dim != at) {
      split.push_back(constant->shape().dim(static_cast<int>(dim)));
      permutation.push_back(dim < at ? dim : dim + more);
      continue;
    }
    for (const int64_t old : joined) {
      split.push_back(transpose->shape().dim(static_cast<int>(old)));
      permutation.push_back(inverse[static_cast<size_t>(old)] - joined[0] + at);
    }
  }
  Instruction* moved = rewriter.Reshape(
      rewriter.Transpose(rewriter.Reshape(constant, split), permutation), constant->shape().dims());
  Instruction* own = rewriter.Reshape(x, reshape->shape().dims());
  if (side == 1) std::swap(own, moved);
  return rewriter.OpWithShape(Opcode::kDot, dot->shape(), {own, moved}, dot->attrs_ptr());
}

// dot(parameter, y)  =>  transpose(dot(y, parameter)), if y is not like a parameter as well
Instruction* ParameterToTheRight(Instruction* dot, Rewriter& rewriter) {
  if (!IsParameterLike(dot->operand(0)) || IsParameterLike(dot->operand(1)) ||
      HasDynamicSizes(dot) || IsLeftUnreduced(*dot))
    return nullptr;
  DotAttrs attrs = DimsOf(dot);
  std::swap(attrs.lhs_batch_dims, attrs.rhs_batch_dims);
  std::swap(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
  if (attrs.operand_precision.values.size() == 2)
    std::swap(attrs.operand_precision.values[0], attrs.operand_precision.values[1]);
  const auto rank = static_cast<int64_t>(dot->shape().rank());
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t new_lhs_free = dot->operand(1)->shape().rank() - batch -
                               static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  DimVec order;
  for (int64_t i = 0; i < batch; ++i) order.push_back(i);
  for (int64_t i = batch + new_lhs_free; i < rank; ++i) order.push_back(i);
  for (int64_t i = batch; i < batch + new_lhs_free; ++i) order.push_back(i);
  return rewriter.Transpose(MakeDot(rewriter, dot->operand(1), dot->operand(0), std::move(attrs),
                                    dot->shape().element_type()),
                            order);
}

constexpr Rule kAssociativeDotRules[] = {
    {"dot-of-dot", Opcode::kDot, kReassociate, DotOfDot},
    {"dot-of-mirrored", Opcode::kDot, kReassociate, DotOfMirrored},
};
constexpr Rule kReorderedDotRules[] = {
    {"dot-of-reordered-sum", Opcode::kDot, kReassociate, DotOfReorderedSum}};
constexpr Rule kParameterToRhsRules[] = {
    {"dot-parameter-to-rhs", Opcode::kDot, kReassociate, ParameterToTheRight}};

}  // namespace

std::span<const Rule> AssociativeDotRules() { return kAssociativeDotRules; }
std::span<const Rule> ReorderedDotRules() { return kReorderedDotRules; }
std::span<const Rule> ParameterToRhsRules() { return kParameterToRhsRules; }

}  // namespace hlo::algsimp
