// Rules rooted at dot.
#include <algorithm>

#include "lib/math/accumulator.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

const DotAttrs& Dims(const Instruction* dot) { return dot->attrs<DotAttrs>(); }

DimVec FreeDims(Shape shape, const DimVec& batch, const DimVec& contracting) {
  DimVec dims;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!Contains(batch, i) && !Contains(contracting, i)) dims.push_back(i);
  }
  return dims;
}

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
  if (std::is_sorted(order.begin(), order.end())) return x;
  return rewriter.Transpose(x, order);
}

// A dot without contracting dimensions  =>  multiply(broadcast(x), broadcast(y))
Instruction* DotToMultiply(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = Dims(dot);
  if (!attrs.lhs_contracting_dims.empty() || attrs.algorithm != DotAlgorithm::kUnset ||
      dot->shape().has_dynamic_dims() || dot->shape().element_type() == ElementType::kPred)
    return nullptr;
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const DimVec lhs_free = FreeDims(dot->operand(0)->shape(), attrs.lhs_batch_dims, {});
  const DimVec rhs_free = FreeDims(dot->operand(1)->shape(), attrs.rhs_batch_dims, {});
  Instruction* x = InOrder(rewriter, dot->operand(0), attrs.lhs_batch_dims, lhs_free, {});
  Instruction* y = InOrder(rewriter, dot->operand(1), attrs.rhs_batch_dims, rhs_free, {});
  // A dot rounds its results, not what it reads: products of wider floats are made in their type.
  const ElementType result = dot->shape().element_type();
  ElementType type = result;
  for (const Instruction* operand : {x, y}) {
    const ElementType wider = operand->shape().element_type();
    if (IsFloat(type) && IsFloat(wider) && BitWidth(wider) > BitWidth(type)) type = wider;
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

// A dot of vectors (of batches of them)  =>  reduce(multiply(x, y))
Instruction* DotToReduce(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = Dims(dot);
  if (attrs.lhs_contracting_dims.empty() || attrs.algorithm != DotAlgorithm::kUnset ||
      dot->operand(0)->shape().element_type() != dot->operand(1)->shape().element_type() ||
      dot->operand(0)->shape().element_type() != dot->shape().element_type() ||
      dot->shape().element_type() == ElementType::kPred || dot->shape().has_dynamic_dims())
    return nullptr;
  if (!FreeDims(dot->operand(0)->shape(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
           .empty() ||
      !FreeDims(dot->operand(1)->shape(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims).empty())
    return nullptr;
  Instruction* x =
      InOrder(rewriter, dot->operand(0), attrs.lhs_batch_dims, {}, attrs.lhs_contracting_dims);
  Instruction* y =
      InOrder(rewriter, dot->operand(1), attrs.rhs_batch_dims, {}, attrs.rhs_contracting_dims);
  Instruction* product = rewriter.Multiply(x, y);
  ElementType type = product->shape().element_type();
  type = AccumulatorType(math::Accumulation::kDot, type, math::Carrier::kInterpreter);
  if (product->shape().element_type() != type) product = rewriter.Convert(product, type);
  DimVec dims;
  for (auto i = static_cast<int64_t>(attrs.lhs_batch_dims.size()); i < product->shape().rank(); ++i)
    dims.push_back(i);
  Instruction* sum = rewriter.Reduce(product, rewriter.Constant(Literal::Zero(type)), dims,
                                     ScalarComputation(rewriter.module(), Opcode::kAdd, type));
  return sum->shape().element_type() == dot->shape().element_type()
             ? sum
             : rewriter.Convert(sum, dot->shape().element_type());
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
  if (lhs.has_dynamic_dims() || rhs.has_dynamic_dims() || dot->shape().IsZeroSized())
    return nullptr;
  const auto has_ones = [](Shape shape) {
    return std::find(shape.dims().begin(), shape.dims().end(), 1) != shape.dims().end();
  };
  if (!has_ones(lhs) && !has_ones(rhs)) return nullptr;
  DotAttrs attrs = Dims(dot);
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
  const DotAttrs& attrs = Dims(dot);
  if (!attrs.lhs_batch_dims.empty() || attrs.lhs_contracting_dims.size() != 1 ||
      dot->operand(0)->shape().rank() != 2 || dot->operand(1)->shape().rank() != 2)
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

// dot(transpose(x), transpose(y)) that exchange the last two dimensions  =>  dot(y, x), transposed
Instruction* DotOfTransposes(Instruction* dot, Rewriter& rewriter) {
  Instruction* a = dot->operand(0);
  Instruction* b = dot->operand(1);
  if (a->opcode() != Opcode::kTranspose || b->opcode() != Opcode::kTranspose) return nullptr;
  const DimVec& order = a->attrs<TransposeAttrs>().dimensions;
  if (order != b->attrs<TransposeAttrs>().dimensions || order.size() != 2) return nullptr;
  const DotAttrs& attrs = Dims(dot);
  if (attrs.lhs_contracting_dims != DimVec{1} || attrs.rhs_contracting_dims != DimVec{0} ||
      order != DimVec{1, 0})
    return nullptr;
  DotAttrs swapped = attrs;
  if (swapped.operand_precision.values.size() == 2)
    std::swap(swapped.operand_precision.values[0], swapped.operand_precision.values[1]);
  const Shape result = dot->shape().WithDimensions({dot->shape().dim(1), dot->shape().dim(0)});
  Instruction* product = rewriter.OpWithShape(Opcode::kDot, result, {b->operand(0), a->operand(0)},
                                              AttrsPtr::Make(std::move(swapped)));
  return rewriter.Transpose(product, {1, 0});
}

// dot(dynamic-slice(c1, rows), c2)  =>  dynamic-slice(dot(c1, c2), rows), for constant matrices
Instruction* DotOfConstantRow(Instruction* dot, Rewriter& rewriter) {
  const DotAttrs& attrs = Dims(dot);
  if (!attrs.lhs_batch_dims.empty() || attrs.lhs_contracting_dims.size() != 1 ||
      dot->shape().rank() != 2)
    return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* slice = dot->operand(side);
    Instruction* constant = dot->operand(1 - side);
    const int64_t dim = side == 0 ? attrs.lhs_contracting_dims[0] : attrs.rhs_contracting_dims[0];
    if (slice->opcode() != Opcode::kDynamicSlice || !constant->IsConstant() ||
        !slice->operand(0)->IsConstant() || slice->operand_count() != 3 ||
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
    Instruction* zero = rewriter.ScalarConstant(start->shape().element_type(), 0);
    std::vector<Instruction*> starts = {start, zero};
    if (side == 1) starts = {zero, start};
    return rewriter.DynamicSlice(whole, starts, dot->shape().dims());
  }
  return nullptr;
}

constexpr Rule kDotRules[] = {
    {"dot-of-nothing", Opcode::kDot, kExact, DotOfNothing},
    {"dot-of-concatenate", Opcode::kDot, kReassociate, DotOfConcat},
    {"dot-of-constant-row", Opcode::kDot, kReassociate, DotOfConstantRow},
    {"dot-of-degenerate", Opcode::kDot, kReassociate, DotOfDegenerate},
    {"dot-of-transposes", Opcode::kDot, kReassociate, DotOfTransposes},
};
constexpr Rule kDotToMultiplyRules[] = {
    {"dot-to-multiply", Opcode::kDot, kReassociate, DotToMultiply}};
constexpr Rule kDotStrengthRules[] = {{"dot-to-reduce", Opcode::kDot, kReassociate, DotToReduce}};

}  // namespace

std::span<const Rule> DotRules() { return kDotRules; }
std::span<const Rule> DotToMultiplyRules() { return kDotToMultiplyRules; }
std::span<const Rule> DotStrengthRules() { return kDotStrengthRules; }

}  // namespace hlo::algsimp
