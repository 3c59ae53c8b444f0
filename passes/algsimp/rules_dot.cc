// Rules rooted at dot.

#include "lib/analysis/region.h"
#include "lib/math/accumulator.h"
#include "lib/types/dim_lists.h"
#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// A dot of nothing  =>  0
Instruction* DotOfNothing(Instruction* dot, Rewriter& rewriter) {
  if (dot->shape().has_dynamic_dims()) return nullptr;
  if (!dot->shape().IsZeroSized() && !dot->operand(0)->shape().IsZeroSized() &&
      !dot->operand(1)->shape().IsZeroSized())
    return nullptr;
  return rewriter.ZeroLike(dot);
}

// `x` with its batch dimensions first, the free ones next, the contracting ones last.
Instruction* InOrder(Rewriter& rewriter, Instruction* x, const DimVec& batch, const DimVec& free,
                     const DimVec& contracting) {
  DimVec order(batch.begin(), batch.end());
  order.insert(order.end(), free.begin(), free.end());
  order.insert(order.end(), contracting.begin(), contracting.end());
  if (absl::c_is_sorted(order)) return x;
  return rewriter.Transpose(x, order);
}

// Whether floats meet integers in `dot`. Which digits such a product keeps is not what conversions
// to one type before a `multiply` keep.
bool MixesFloatsWithIntegers(const Instruction* dot) {
  const auto type = [&](int64_t k) { return dot->operand(k)->shape().element_type(); };
  const bool reads_floats = IsFloat(type(0)) || IsFloat(type(1));
  const auto is_integer = [](ElementType t) { return IsInteger(t) || IsPred(t); };
  return reads_floats &&
         (is_integer(type(0)) || is_integer(type(1)) || is_integer(dot->shape().element_type()));
}

// A dot without contracting dimensions  =>  multiply(broadcast(x), broadcast(y))
Instruction* OuterProduct(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = DimsOf(dot);
  if (!attrs.lhs_contracting_dims.empty() || dot->shape().has_dynamic_dims() ||
      MixesFloatsWithIntegers(dot))
    return nullptr;
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const DimVec lhs_free = FreeDims(dot->operand(0)->shape().rank(), attrs.lhs_batch_dims, {});
  const DimVec rhs_free = FreeDims(dot->operand(1)->shape().rank(), attrs.rhs_batch_dims, {});
  Instruction* x = InOrder(rewriter, dot->operand(0), attrs.lhs_batch_dims, lhs_free, {});
  Instruction* y = InOrder(rewriter, dot->operand(1), attrs.rhs_batch_dims, rhs_free, {});
  // A dot rounds its results, not what it reads: products of wider floats are made in their type,
  // and of complex products it takes the real part.
  const ElementType result = dot->shape().element_type();
  ElementType type = result;
  for (const Instruction* operand : {x, y}) {
    const ElementType own = operand->shape().element_type();
    const bool same_kind = IsFloat(type) ? IsFloat(own) : IsComplex(type) && IsComplex(own);
    if ((same_kind && BitWidth(own) > BitWidth(type)) || (IsComplex(own) && !IsComplex(type)))
      type = own;
  }
  if (x->shape().element_type() != type) x = rewriter.Convert(x, type);
  if (y->shape().element_type() != type) y = rewriter.Convert(y, type);
  DimVec x_dims, y_dims;
  const int64_t rank = dot->shape().rank();
  const auto x_free = static_cast<int64_t>(lhs_free.size());
  for (int64_t i = 0; i < rank; ++i) {
    if (i < batch + x_free) x_dims.push_back(i);
    if (i < batch || i >= batch + x_free) y_dims.push_back(i);
  }
  if (x->shape().rank() != rank) x = rewriter.Broadcast(x, dot->shape().dims(), x_dims);
  if (y->shape().rank() != rank) y = rewriter.Broadcast(y, dot->shape().dims(), y_dims);
  Instruction* product = rewriter.Multiply(x, y);
  return type == result ? product : rewriter.Convert(product, result);
}

Instruction* DotToMultiply(Instruction* dot, Rewriter& rewriter) {
  return DimsOf(dot).algorithm == DotAlgorithm::kUnset && !IsPred(dot->shape().element_type())
             ? OuterProduct(dot, rewriter)
             : nullptr;
}

// The same for dots of pred, and where the algorithm says what a multiplication of f32 does anyway.
Instruction* MoreDotsToMultiply(Instruction* dot, Rewriter& rewriter) {
  const bool all_pred = IsPred(dot->shape().element_type()) &&
                        IsPred(dot->operand(0)->shape().element_type()) &&
                        IsPred(dot->operand(1)->shape().element_type());
  return all_pred || (DimsOf(dot).algorithm == DotAlgorithm::kF32F32F32 &&
                      !IsPred(dot->shape().element_type()))
             ? OuterProduct(dot, rewriter)
             : nullptr;
}

// `x` in order, with as many free dimensions of the other operand as `sizes` has between batch and
// contracting ones.
Instruction* SpreadOver(Rewriter& rewriter, Instruction* x, const DimVec& batch,
                        const DimVec& contracting, const DimVec& sizes) {
  x = InOrder(rewriter, x, batch, {}, contracting);
  if (static_cast<int>(sizes.size()) == x->shape().rank()) return x;
  DimVec dims;
  const auto added = static_cast<int64_t>(sizes.size()) - x->shape().rank();
  for (int64_t i = 0; i < x->shape().rank(); ++i)
    dims.push_back(i < static_cast<int64_t>(batch.size()) ? i : i + added);
  return rewriter.Broadcast(x, sizes, dims);
}

// reduce(multiply(x, y)) for a dot of which at least one operand has no free dimensions.
Instruction* SumOfProducts(Instruction* dot, Rewriter& rewriter, const DimVec& lhs_free,
                           const DimVec& rhs_free) {
  const DotAttrs& attrs = DimsOf(dot);
  const bool lhs_is_larger = !lhs_free.empty();
  Instruction* larger = lhs_is_larger ? InOrder(rewriter, dot->operand(0), attrs.lhs_batch_dims,
                                                lhs_free, attrs.lhs_contracting_dims)
                                      : InOrder(rewriter, dot->operand(1), attrs.rhs_batch_dims,
                                                rhs_free, attrs.rhs_contracting_dims);
  const DimVec sizes(larger->shape().dims().begin(), larger->shape().dims().end());
  Instruction* other = lhs_is_larger ? SpreadOver(rewriter, dot->operand(1), attrs.rhs_batch_dims,
                                                  attrs.rhs_contracting_dims, sizes)
                                     : SpreadOver(rewriter, dot->operand(0), attrs.lhs_batch_dims,
                                                  attrs.lhs_contracting_dims, sizes);
  // Of narrower operands products are exact in the type of the result, and wider ones stay wide.
  ElementType type = dot->shape().element_type();
  for (const Instruction* operand : {larger, other}) {
    const ElementType wider = operand->shape().element_type();
    if (IsFloat(type) && BitWidth(wider) > BitWidth(type)) type = wider;
  }
  if (larger->shape().element_type() != type) larger = rewriter.Convert(larger, type);
  if (other->shape().element_type() != type) other = rewriter.Convert(other, type);
  Instruction* product =
      lhs_is_larger ? rewriter.Multiply(larger, other) : rewriter.Multiply(other, larger);
  type = AccumulatorType(math::Accumulation::kDot, type, math::Carrier::kInterpreter);
  if (product->shape().element_type() != type) product = rewriter.Convert(product, type);
  DimVec dims;
  for (int64_t i = dot->shape().rank(); i < product->shape().rank(); ++i) dims.push_back(i);
  Instruction* sum = rewriter.Reduce(product, rewriter.Constant(Literal::Zero(type)), dims,
                                     ScalarComputation(rewriter.module(), Opcode::kAdd, type));
  return sum->shape().element_type() == dot->shape().element_type()
             ? sum
             : rewriter.Convert(sum, dot->shape().element_type());
}

// Whether `dot` reads numbers of the kind of its result, and sums what it reads.
bool IsPlainDot(const Instruction* dot) {
  const DotAttrs& attrs = DimsOf(dot);
  const ElementType type = dot->shape().element_type();
  for (const Instruction* operand : dot->operands()) {
    const ElementType own = operand->shape().element_type();
    const bool same_kind = IsFloat(type) ? IsFloat(own) : IsInteger(type) && IsInteger(own);
    if (own != type && !same_kind) return false;
  }
  return !attrs.lhs_contracting_dims.empty() && !IsPred(type) && !dot->shape().has_dynamic_dims() &&
         (attrs.algorithm == DotAlgorithm::kUnset || attrs.algorithm == DotAlgorithm::kF32F32F32) &&
         !IsLeftUnreduced(*dot);
}

// A dot of vectors (of batches of them)  =>  reduce(multiply(x, y))
Instruction* DotToReduce(Instruction* dot, Rewriter& rewriter) {
  if (!IsPlainDot(dot)) return nullptr;
  const DotAttrs& attrs = DimsOf(dot);
  const bool vectors =
      FreeDims(dot->operand(0)->shape().rank(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
          .empty() &&
      FreeDims(dot->operand(1)->shape().rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
          .empty();
  return vectors ? SumOfProducts(dot, rewriter, {}, {}) : nullptr;
}

// A dot with a vector (or batches)  =>  reduce(multiply(x, broadcast(y)))
Instruction* DotOfVectorToReduce(Instruction* dot, Rewriter& rewriter) {
  if (!IsPlainDot(dot)) return nullptr;
  const DotAttrs& attrs = DimsOf(dot);
  const DimVec lhs =
      FreeDims(dot->operand(0)->shape().rank(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const DimVec rhs =
      FreeDims(dot->operand(1)->shape().rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  return lhs.empty() || rhs.empty() ? SumOfProducts(dot, rewriter, lhs, rhs) : nullptr;
}

// The numbers of `dims` after the dimensions of size 1 are gone; those that are go.
DimVec Renumbered(const DimVec& dims, Shape shape) {
  DimVec result;
  for (int64_t dim : dims) {
    if (shape.dim(static_cast<int>(dim)) == 1) continue;
    int64_t before = 0;
    for (int64_t i = 0; i < dim; ++i) before += shape.dim(static_cast<int>(i)) == 1 ? 1 : 0;
    result.push_back(dim - before);
  }
  return result;
}

Instruction* WithoutOnes(Rewriter& rewriter, Instruction* x) {
  DimVec dims;
  for (int64_t size : x->shape().dims()) {
    if (size != 1) dims.push_back(size);
  }
  return static_cast<int>(dims.size()) == x->shape().rank() ? x : rewriter.Reshape(x, dims);
}

// Dimensions of size 1 go  =>  reshape(dot(reshape(x), reshape(y)))
Instruction* DotOfDegenerate(Instruction* dot, Rewriter& rewriter) {
  const Shape lhs = dot->operand(0)->shape();
  const Shape rhs = dot->operand(1)->shape();
  if (lhs.has_dynamic_dims() || rhs.has_dynamic_dims() || dot->shape().IsZeroSized() ||
      IsLeftUnreduced(*dot))
    return nullptr;
  const auto has_ones = [](Shape shape) { return absl::c_linear_search(shape.dims(), 1); };
  if (!has_ones(lhs) && !has_ones(rhs)) return nullptr;
  DotAttrs attrs = DimsOf(dot);
  attrs.lhs_batch_dims = Renumbered(attrs.lhs_batch_dims, lhs);
  attrs.rhs_batch_dims = Renumbered(attrs.rhs_batch_dims, rhs);
  attrs.lhs_contracting_dims = Renumbered(attrs.lhs_contracting_dims, lhs);
  attrs.rhs_contracting_dims = Renumbered(attrs.rhs_contracting_dims, rhs);
  DimVec sizes;
  for (int64_t size : dot->shape().dims()) {
    if (size != 1) sizes.push_back(size);
  }
  Instruction* smaller = rewriter.OpWithShape(
      Opcode::kDot, dot->shape().WithDimensions(sizes),
      {WithoutOnes(rewriter, dot->operand(0)), WithoutOnes(rewriter, dot->operand(1))},
      AttrsPtr::Make(std::move(attrs)));
  return SameDimensions(smaller->shape(), dot->shape())
             ? smaller
             : rewriter.Reshape(smaller, dot->shape().dims());
}

// dot(concatenate(x, y), c)  =>  dot(x, c1) + dot(y, c2), for matrices and constant c
Instruction* DotOfConcat(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = DimsOf(dot);
  if (!attrs.lhs_batch_dims.empty() || attrs.lhs_contracting_dims.size() != 1 ||
      dot->operand(0)->shape().rank() != 2 || dot->operand(1)->shape().rank() != 2 ||
      IsLeftUnreduced(*dot))
    return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* concat = dot->operand(side);
    Instruction* constant = dot->operand(1 - side);
    const int64_t dim = side == 0 ? attrs.lhs_contracting_dims[0] : attrs.rhs_contracting_dims[0];
    const int64_t other = side == 0 ? attrs.rhs_contracting_dims[0] : attrs.lhs_contracting_dims[0];
    if (concat->opcode() != Opcode::kConcatenate || !constant->IsConstant() ||
        concat->attrs<ConcatenateAttrs>().dimensions.value != dim)
      continue;
    Instruction* sum = nullptr;
    int64_t at = 0;
    for (Instruction* part : concat->operands()) {
      const int64_t size = part->shape().dim(static_cast<int>(dim));
      DimVec starts(2, 0);
      DimVec limits(constant->shape().dims().begin(), constant->shape().dims().end());
      starts[static_cast<size_t>(other)] = at;
      limits[static_cast<size_t>(other)] = at + size;
      Instruction* piece = rewriter.Slice(constant, starts, limits);
      std::vector<Instruction*> operands = {part, piece};
      if (side == 1) operands = {piece, part};
      Instruction* partial =
          rewriter.OpWithShape(Opcode::kDot, dot->shape(), operands, dot->attrs_ptr());
      sum = sum == nullptr ? partial : rewriter.Add(sum, partial);
      at += size;
    }
    return sum;
  }
  return nullptr;
}

// dot(transpose(x), transpose(y)) of one order, for matrices or batches of them that come first
//     =>  dot(y, x), transposed, when it exchanges the last two dimensions; dot(x, y), transposed,
//         when it leaves them
Instruction* DotOfTransposes(Instruction* dot, Rewriter& rewriter) {
  Instruction* a = dot->operand(0);
  Instruction* b = dot->operand(1);
  if (a->opcode() != Opcode::kTranspose || b->opcode() != Opcode::kTranspose) return nullptr;
  const DimVec& order = a->attrs<TransposeAttrs>().dimensions;
  const auto rank = static_cast<int64_t>(order.size());
  DotAttrs attrs = DimsOf(dot);
  DimVec batch;
  for (int64_t i = 0; i + 2 < rank; ++i) batch.push_back(i);
  if (order != b->attrs<TransposeAttrs>().dimensions || rank < 2 || attrs.lhs_batch_dims != batch ||
      attrs.rhs_batch_dims != batch || attrs.lhs_contracting_dims != DimVec{rank - 1} ||
      attrs.rhs_contracting_dims != DimVec{rank - 2} || dot->shape().has_dynamic_dims() ||
      IsLeftUnreduced(*dot))
    return nullptr;
  const bool exchanges = order[static_cast<size_t>(rank) - 1] == rank - 2 &&
                         order[static_cast<size_t>(rank) - 2] == rank - 1;
  const bool leaves = order[static_cast<size_t>(rank) - 1] == rank - 1 &&
                      order[static_cast<size_t>(rank) - 2] == rank - 2;
  if (!exchanges && !leaves) return nullptr;
  Instruction* x = a->operand(0);
  Instruction* y = b->operand(0);
  if (exchanges) {
    std::swap(x, y);
    if (attrs.operand_precision.values.size() == 2)
      std::swap(attrs.operand_precision.values[0], attrs.operand_precision.values[1]);
  }
  DimVec sizes(x->shape().dims().begin(), x->shape().dims().end());
  sizes.back() = y->shape().dim(static_cast<int>(rank) - 1);
  Instruction* product = rewriter.OpWithShape(Opcode::kDot, dot->shape().WithDimensions(sizes),
                                              {x, y}, AttrsPtr::Make(std::move(attrs)));
  return rewriter.Transpose(product, order);
}

// dot(dynamic-slice(c1, row), c2)  =>  dynamic-slice(dot(c1, c2), row), for constant matrices
Instruction* DotOfConstantRow(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = DimsOf(dot);
  if (!attrs.lhs_batch_dims.empty() || attrs.lhs_contracting_dims.size() != 1 ||
      dot->shape().rank() != 2 || IsLeftUnreduced(*dot))
    return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* slice = dot->operand(side);
    Instruction* constant = dot->operand(1 - side);
    const int64_t dim = side == 0 ? attrs.lhs_contracting_dims[0] : attrs.rhs_contracting_dims[0];
    if (slice->opcode() != Opcode::kDynamicSlice || !constant->IsConstant() ||
        !slice->operand(0)->IsConstant() || slice->operand_count() != 3 ||
        slice->shape().dim(static_cast<int>(1 - dim)) != 1 ||
        slice->shape().dim(static_cast<int>(dim)) !=
            slice->operand(0)->shape().dim(static_cast<int>(dim)))
      continue;
    const int64_t free = 1 - dim;
    DimVec sizes = {dot->shape().dim(0), dot->shape().dim(1)};
    sizes[static_cast<size_t>(side)] = slice->operand(0)->shape().dim(static_cast<int>(free));
    std::vector<Instruction*> operands = {slice->operand(0), constant};
    if (side == 1) operands = {constant, slice->operand(0)};
    Instruction* whole = rewriter.OpWithShape(Opcode::kDot, dot->shape().WithDimensions(sizes),
                                              operands, dot->attrs_ptr());
    Instruction* start = slice->operand(static_cast<int>(free) + 1);
    Instruction* zero = slice->operand(static_cast<int>(dim) + 1);  // the row is whole
    std::vector<Instruction*> starts = {start, zero};
    if (side == 1) starts = {zero, start};
    return rewriter.DynamicSlice(whole, starts, dot->shape().dims());
  }
  return nullptr;
}

// sum(dot(a, b)) over batch dimensions of the dot  =>  dot(a, b) that contracts them; the other
//     dimensions are summed afterwards
Instruction* ReduceOfDot(Instruction* reduce, Rewriter& rewriter) {
  Instruction* dot = reduce->operand(0);
  if (reduce->operand_count() != 2 || dot->opcode() != Opcode::kDot || !dot->has_one_user() ||
      CombinerOpcode(*reduce->to_apply()) != Opcode::kAdd || dot->shape().has_dynamic_dims() ||
      !reduce->shape().IsArray())
    return nullptr;
  DotAttrs attrs = DimsOf(dot);
  const DimVec& summed_dims = reduce->attrs<ReduceAttrs>().dimensions;
  const DotAttrs old = attrs;
  const auto batch = static_cast<int64_t>(old.lhs_batch_dims.size());
  attrs.lhs_batch_dims.clear();
  attrs.rhs_batch_dims.clear();
  DimVec sizes, dims;  // of the new dot; that are summed afterwards
  int64_t contracted = 0;
  for (int64_t i = 0; i < dot->shape().rank(); ++i) {
    const bool summed = Contains(summed_dims, i);
    const auto k = static_cast<size_t>(i);
    if (summed && i >= batch) dims.push_back(i - contracted);
    if (summed && i < batch) {
      attrs.lhs_contracting_dims.push_back(old.lhs_batch_dims[k]);
      attrs.rhs_contracting_dims.push_back(old.rhs_batch_dims[k]);
      ++contracted;
      continue;
    }
    if (i < batch) {
      attrs.lhs_batch_dims.push_back(old.lhs_batch_dims[k]);
      attrs.rhs_batch_dims.push_back(old.rhs_batch_dims[k]);
    }
    sizes.push_back(dot->shape().dim(static_cast<int>(i)));
  }
  if (contracted == 0 || (dims.empty() && !IsIdentityOf(Opcode::kAdd, *reduce->operand(1))))
    return nullptr;
  Instruction* sum =
      rewriter.OpWithShape(Opcode::kDot, dot->shape().WithDimensions(sizes),
                           {dot->operand(0), dot->operand(1)}, AttrsPtr::Make(std::move(attrs)));
  return dims.empty() ? sum : rewriter.Reduce(sum, reduce->operand(1), dims, reduce->to_apply());
}

constexpr Rule kDotOfNothingRules[] = {{"dot-of-nothing", Opcode::kDot, kExact, DotOfNothing}};
constexpr Rule kDotRules[] = {
    {"dot-of-concatenate", Opcode::kDot, kReassociate, DotOfConcat},
    {"dot-of-constant-row", Opcode::kDot, kReassociate, DotOfConstantRow},
    {"dot-of-degenerate", Opcode::kDot, kReassociate, DotOfDegenerate},
    {"dot-of-transposes", Opcode::kDot, kReassociate, DotOfTransposes},
};
constexpr Rule kDotToMultiplyRules[] = {
    {"dot-to-multiply", Opcode::kDot, kReassociate, DotToMultiply}};
constexpr Rule kMoreDotsToMultiplyRules[] = {
    {"more-dots-to-multiply", Opcode::kDot, kReassociate, MoreDotsToMultiply}};
constexpr Rule kDotStrengthRules[] = {{"dot-to-reduce", Opcode::kDot, kReassociate, DotToReduce}};
constexpr Rule kDotOfVectorRules[] = {
    {"dot-of-vector", Opcode::kDot, kReassociate, DotOfVectorToReduce}};
constexpr Rule kReduceOfDotRules[] = {
    {"reduce-of-dot", Opcode::kReduce, kReassociate, ReduceOfDot}};

}  // namespace

std::span<const Rule> DotOfNothingRules() { return kDotOfNothingRules; }
std::span<const Rule> DotRules() { return kDotRules; }
std::span<const Rule> DotToMultiplyRules() { return kDotToMultiplyRules; }
std::span<const Rule> MoreDotsToMultiplyRules() { return kMoreDotsToMultiplyRules; }
std::span<const Rule> DotStrengthRules() { return kDotStrengthRules; }
std::span<const Rule> DotOfVectorRules() { return kDotOfVectorRules; }
std::span<const Rule> ReduceOfDotRules() { return kReduceOfDotRules; }

}  // namespace hlo::algsimp
