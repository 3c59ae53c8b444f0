#include "passes/expand/reflectors.h"

#include <algorithm>
#include <limits>

#include "passes/util/counted_loop.h"
#include "passes/util/matrices.h"

namespace hlo {
namespace {

using enum ComparisonDirection;

// Indices of the place (row, column) of each matrix; null is 0.
std::vector<Instruction*> Place(Builder& b, const Instruction* x, Instruction* row,
                                Instruction* column) {
  Instruction* zero = b.ScalarConstant(ElementType::kS32, 0);
  std::vector<Instruction*> starts(static_cast<size_t>(x->shape().rank()), zero);
  if (row != nullptr) starts[starts.size() - 2] = row;
  if (column != nullptr) starts[starts.size() - 1] = column;
  return starts;
}

// Where the number of the row (from_end = 2) or column (1) of `x` compares with `j` as said.
Instruction* CompareNumber(Builder& b, const Instruction* x, int from_end, Instruction* j,
                           ComparisonDirection direction) {
  const Shape numbers = Shape::Array(ElementType::kS32, x->shape().dims());
  return b.Compare(b.Iota(numbers, x->shape().rank() - from_end),
                   b.Broadcast(j, x->shape().dims(), {}), direction);
}

Instruction* AdjointOf(Builder& b, Instruction* x) { return TransposeMatrices(b, Conjugate(b, x)); }

// One number of each column [batch…, m, 1], by `opcode` from `init`: [batch…, 1, 1].
Instruction* ReduceColumn(Builder& b, Instruction* column, Opcode opcode, double init) {
  const ElementType type = column->shape().element_type();
  Computation* to_apply = ScalarComputation(b.computation()->module(), opcode, type);
  Instruction* reduced =
      b.Reduce(column, b.ScalarConstant(type, init), {column->shape().rank() - 2}, to_apply);
  return b.Reshape(reduced, SizesWithMatrix(column, 1, 1));
}

// The largest part of numbers.
Instruction* Magnitude(Builder& b, Instruction* x) {
  if (!IsComplex(x->shape().element_type())) return b.Abs(x);
  return b.Maximum(b.Abs(b.Real(x)), b.Abs(b.Imag(x)));
}

// |x / scale|².
Instruction* ScaledSquare(Builder& b, Instruction* x, Instruction* scale) {
  const auto square = [&](Instruction* part) {
    Instruction* scaled = b.Divide(part, SpreadOverMatrix(b, scale, part));
    return b.Multiply(scaled, scaled);
  };
  if (!IsComplex(x->shape().element_type())) return square(x);
  return b.Add(square(b.Real(x)), square(b.Imag(x)));
}

// -0 counts as negative.
Instruction* IsNegative(Builder& b, Instruction* x) {
  const ElementType type =
      x->shape().element_type() == ElementType::kF64 ? ElementType::kS64 : ElementType::kS32;
  Instruction* bits = b.BitcastConvert(x, x->shape().WithElementType(type));
  return b.Compare(bits, b.ZeroLike(bits), kLt);
}

struct Reflector {
  Instruction* vector = nullptr;    // [batch…, m, 1]
  Instruction* diagonal = nullptr;  // what becomes of row j: [batch…, 1, 1], as `tau`
  Instruction* tau = nullptr;
};

// The reflector that takes the column below row `j` away. The length is found from numbers divided
// by the largest of them, so that their squares do not overflow.
Reflector MakeReflector(Builder& b, Instruction* column, Instruction* j) {
  Instruction* below = b.Select(CompareNumber(b, column, 2, j, kGt), column, b.ZeroLike(column));
  Instruction* alpha =
      b.DynamicSlice(column, Place(b, column, j, nullptr), SizesWithMatrix(column, 1, 1));
  Instruction* re = RealPart(b, alpha);
  Instruction* zero = b.ZeroLike(re);
  Instruction* largest_below = ReduceColumn(b, Magnitude(b, below), Opcode::kMaximum, 0);
  Instruction* is_done = b.Compare(largest_below, zero, kEq);
  if (IsComplex(alpha->shape().element_type()))
    is_done = b.And(is_done, b.Compare(b.Imag(alpha), zero, kEq));

  Instruction* largest = b.Maximum(largest_below, Magnitude(b, alpha));
  Instruction* infinity = b.ConstantLike(re, std::numeric_limits<double>::infinity());
  Instruction* has_scale = b.And(b.Compare(largest, zero, kGt), b.Compare(largest, infinity, kLt));
  Instruction* scale = b.Select(has_scale, largest, b.ConstantLike(re, 1));
  Instruction* squares = b.Add(ReduceColumn(b, ScaledSquare(b, below, scale), Opcode::kAdd, 0),
                               ScaledSquare(b, alpha, scale));
  Instruction* length = b.Multiply(scale, b.Sqrt(squares));
  Instruction* beta = b.Select(IsNegative(b, re), length, b.Negate(length));

  Instruction* tau = b.Divide(b.Subtract(beta, re), beta);
  if (IsComplex(alpha->shape().element_type()))
    tau = b.Complex(tau, b.Divide(b.Negate(b.Imag(alpha)), beta));
  Instruction* divisor = b.Subtract(alpha, AsTypeOf(b, beta, alpha));
  divisor = b.Select(is_done, b.ConstantLike(alpha, 1), divisor);
  Instruction* vector = b.Divide(below, SpreadOverMatrix(b, divisor, below));
  vector = b.Select(CompareNumber(b, column, 2, j, kEq), b.ConstantLike(vector, 1), vector);
  return {vector, b.Select(is_done, alpha, AsTypeOf(b, beta, alpha)),
          b.Select(is_done, b.ZeroLike(tau), tau)};
}

// Column `j` of `a` becomes the reflector, and those after it what the reflector makes of them.
Instruction* ReduceColumn(Builder& b, Instruction* a, Instruction* j, const Reflector& reflector,
                          Instruction* column) {
  Instruction* products = MatrixProduct(b, AdjointOf(b, reflector.vector), a);
  products = b.Multiply(products, SpreadOverMatrix(b, Conjugate(b, reflector.tau), products));
  Instruction* rest = b.Subtract(a, MatrixProduct(b, reflector.vector, products));
  rest = b.Select(CompareNumber(b, a, 1, j, kGt), rest, a);
  Instruction* done = b.Select(CompareNumber(b, column, 2, j, kGt), reflector.vector, column);
  done = b.Select(CompareNumber(b, column, 2, j, kEq),
                  SpreadOverMatrix(b, reflector.diagonal, column), done);
  return b.DynamicUpdateSlice(rest, done, Place(b, a, nullptr, j));
}

}  // namespace

absl::StatusOr<PackedReflectors> ReduceColumns(Builder& b, Instruction* a,
                                               const Instruction* origin) {
  const int64_t m = RowsOf(a), k = std::min(m, ColumnsOf(a));
  const ElementType type = a->shape().element_type();
  Instruction* taus = b.Broadcast(b.ScalarConstant(type, 0), SizesWithMatrix(a, 1, k), {});
  const CountedLoopBody body = [m](Builder& in, Instruction* j,
                                   const std::vector<Instruction*>& state) {
    Instruction* column =
        in.DynamicSlice(state[0], Place(in, state[0], nullptr, j), SizesWithMatrix(state[0], m, 1));
    const Reflector reflector = MakeReflector(in, column, j);
    return std::vector<Instruction*>{
        ReduceColumn(in, state[0], j, reflector, column),
        in.DynamicUpdateSlice(state[1], reflector.tau, Place(in, state[1], nullptr, j))};
  };
  ASSIGN_OR_RETURN(
      const std::vector<Instruction*> result,
      MakeCountedLoop(b, static_cast<int32_t>(k), {a, taus}, body, "reduce_columns", origin));
  return PackedReflectors{result[0], result[1]};
}

absl::StatusOr<BlockReflector> MakeBlockReflector(Builder& b, PackedReflectors reflectors,
                                                  const Instruction* origin) {
  const int64_t k = ColumnsOf(reflectors.taus);
  Instruction* packed = TakeBlock(b, reflectors.packed, {0, 0, RowsOf(reflectors.packed), k});
  Instruction* vectors = b.Select(CompareRowAndColumn(b, packed, kGt), packed, b.ZeroLike(packed));
  vectors = b.Select(CompareRowAndColumn(b, packed, kEq), b.ConstantLike(packed, 1), vectors);
  Instruction* products = MatrixProduct(b, AdjointOf(b, vectors), vectors);
  // Column j of T from those before it: -tau T Vᴴ v, and tau on the diagonal.
  const CountedLoopBody body = [k](Builder& in, Instruction* j,
                                   const std::vector<Instruction*>& state) {
    Instruction *factor = state[0], *vs = state[1], *taus = state[2];
    const std::vector<Instruction*> place = Place(in, factor, nullptr, j);
    Instruction* tau = in.DynamicSlice(taus, place, SizesWithMatrix(factor, 1, 1));
    Instruction* column =
        MatrixProduct(in, factor, in.DynamicSlice(vs, place, SizesWithMatrix(factor, k, 1)));
    tau = SpreadOverMatrix(in, tau, column);
    column = in.Multiply(in.Negate(tau), column);
    column = in.Select(CompareNumber(in, column, 2, j, kEq), tau, column);
    return std::vector<Instruction*>{in.DynamicUpdateSlice(factor, column, place), vs, taus};
  };
  ASSIGN_OR_RETURN(
      const std::vector<Instruction*> result,
      MakeCountedLoop(b, static_cast<int32_t>(k), {b.ZeroLike(products), products, reflectors.taus},
                      body, "join_reflectors", origin));
  return BlockReflector{vectors, result[0]};
}

Instruction* Apply(Builder& b, const BlockReflector& block, Adjoint adjoint, Instruction* x) {
  Instruction* factor = adjoint == Adjoint::kYes ? AdjointOf(b, block.factor) : block.factor;
  Instruction* products = MatrixProduct(b, AdjointOf(b, block.vectors), x);
  return b.Subtract(x, MatrixProduct(b, block.vectors, MatrixProduct(b, factor, products)));
}

}  // namespace hlo
