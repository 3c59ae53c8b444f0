#include "passes/expand/triangular_solve_expander.h"

#include <algorithm>

#include "lib/support/round.h"
#include "passes/util/counted_loop.h"
#include "passes/util/matrices.h"

namespace hlo {
namespace {

// The lower triangle of `a`, with ones on the diagonal if `unit`, and 0 above.
Instruction* LowerTriangle(Builder& b, Instruction* a, bool unit) {
  Instruction* below =
      CompareRowAndColumn(b, a, unit ? ComparisonDirection::kGt : ComparisonDirection::kGe);
  Instruction* triangle = b.Select(below, a, b.ZeroLike(a));
  if (!unit) return triangle;
  Instruction* diagonal = CompareRowAndColumn(b, a, ComparisonDirection::kEq);
  return b.Select(diagonal, b.ConstantLike(a, 1), triangle);
}

Instruction* PadHigh(Builder& b, Instruction* x, int64_t rows, int64_t columns) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(x->shape().rank()));
  padding.dims[padding.dims.size() - 2].high = rows;
  padding.dims[padding.dims.size() - 1].high = columns;
  return b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
}

// `a` with `more` rows and columns of the identity matrix.
Instruction* ExtendByIdentity(Builder& b, Instruction* a, int64_t more) {
  const int64_t n = RowsOf(a);
  Instruction* padded = PadHigh(b, a, more, more);
  const Shape numbers = Shape::Array(ElementType::kS32, padded->shape().dims());
  Instruction* row = b.Iota(numbers, padded->shape().rank() - 2);
  Instruction* is_new =
      b.Compare(row, b.ConstantLike(row, static_cast<double>(n)), ComparisonDirection::kGe);
  Instruction* diagonal = CompareRowAndColumn(b, padded, ComparisonDirection::kEq);
  return b.Select(b.And(is_new, diagonal), b.ConstantLike(padded, 1), padded);
}

// The `size` x `size` blocks on the diagonal of `a`: [batch…, number of blocks, size, size].
Instruction* DiagonalBlocks(Builder& b, Instruction* a, int64_t size) {
  std::vector<Instruction*> blocks;
  const int rank = a->shape().rank();
  for (int64_t at = 0; at < RowsOf(a); at += size) {
    Instruction* block = TakeBlock(b, a, {at, at, size, size});
    std::vector<int64_t> sizes(block->shape().dims().begin(), block->shape().dims().end());
    sizes.insert(sizes.end() - 2, 1);
    blocks.push_back(b.Reshape(block, sizes));
  }
  return blocks.size() == 1 ? blocks[0] : b.Concatenate(blocks, rank - 2);
}

// The inverses of lower triangular matrices. With a = u · diag(d), u of unit diagonal, inverse(a) =
// inverse(u) / d by rows, and row i of the inverse of u is e_i - u[i, :i] · inverse[:i]. A loop
// cannot take a part of a row, so the rows that are not known yet hold the negative identity:
// -(u[i] · rows) is row i.
absl::StatusOr<Instruction*> InvertLower(Builder& b, Instruction* blocks,
                                         const Instruction* origin) {
  const ElementType type = blocks->shape().element_type();
  const int64_t size = RowsOf(blocks);
  const int64_t count = blocks->shape().element_count() / (size * size);
  Instruction* a = b.Reshape(blocks, {count, size, size});
  Instruction* is_diagonal = CompareRowAndColumn(b, a, ComparisonDirection::kEq);
  Instruction* diagonal =
      b.Reduce(b.Select(is_diagonal, a, b.ZeroLike(a)), b.ScalarConstant(type, 0), {1},
               ScalarComputation(b.computation()->module(), Opcode::kAdd, type));
  Instruction* unit = b.Divide(a, b.Broadcast(diagonal, a->shape().dims(), {0, 2}));
  Instruction* row_number = b.Iota(Shape::Array(ElementType::kS32, a->shape().dims()), 1);
  Instruction* is_first = b.Compare(row_number, b.ZeroLike(row_number), ComparisonDirection::kEq);
  Instruction* on_diagonal = b.Select(is_first, b.ConstantLike(a, 1), b.ConstantLike(a, -1));
  Instruction* rows = b.Select(is_diagonal, on_diagonal, b.ZeroLike(a));
  const CountedLoopBody body = [&](Builder& in, Instruction* i,
                                   const std::vector<Instruction*>& state) {
    Instruction* zero = in.ScalarConstant(ElementType::kS32, 0);
    Instruction* next = in.Add(i, in.ScalarConstant(ElementType::kS32, 1));
    const std::vector<Instruction*> start = {zero, next, zero};
    Instruction* row = in.DynamicSlice(state[1], start, {count, 1, size});
    Instruction* inverse = in.Negate(MatrixProduct(in, row, state[0]));
    return std::vector<Instruction*>{in.DynamicUpdateSlice(state[0], inverse, start), state[1]};
  };
  ASSIGN_OR_RETURN(const std::vector<Instruction*> result,
                   MakeCountedLoop(b, static_cast<int32_t>(size - 1), {rows, unit}, body,
                                   "invert_blocks", origin));
  Instruction* inverse = b.Divide(result[0], b.Broadcast(diagonal, a->shape().dims(), {0, 1}));
  return b.Reshape(inverse, blocks->shape().dims());
}

// a · x = b by blocks; `a` lower triangular.
absl::StatusOr<Instruction*> SolveByBlocks(Builder& b, Instruction* a, Instruction* rhs,
                                           int64_t block_size, const Instruction* origin) {
  const int64_t n = RowsOf(a), columns = ColumnsOf(rhs);
  const int64_t size = std::min(block_size, n);
  const int64_t count = CeilDiv(n, size);
  if (count * size > n) {
    a = ExtendByIdentity(b, a, count * size - n);
    rhs = PadHigh(b, rhs, count * size - n, 0);
  }
  ASSIGN_OR_RETURN(Instruction* const inverses, InvertLower(b, DiagonalBlocks(b, a, size), origin));
  std::vector<Instruction*> solved;
  for (int64_t j = 0; j < count; ++j) {
    std::vector<int64_t> starts(static_cast<size_t>(inverses->shape().rank()), 0);
    std::vector<int64_t> limits(inverses->shape().dims().begin(), inverses->shape().dims().end());
    starts[starts.size() - 3] = j;
    limits[limits.size() - 3] = j + 1;
    Instruction* inverse =
        b.Reshape(b.Slice(inverses, starts, limits), SizesWithMatrix(a, size, size));
    Instruction* rest = TakeBlock(b, rhs, {j * size, 0, size, columns});
    if (j > 0) {
      Instruction* before = TakeBlock(b, a, {j * size, 0, size, j * size});
      rest = b.Subtract(rest, MatrixProduct(b, before, StackRows(b, solved)));
    }
    solved.push_back(MatrixProduct(b, inverse, rest));
  }
  Instruction* x = StackRows(b, solved);
  return count * size > n ? TakeBlock(b, x, {0, 0, n, columns}) : x;
}

// a · x = b row by row; `a` lower triangular.
Instruction* SolveByRows(Builder& b, Instruction* a, Instruction* rhs, bool unit) {
  const int64_t n = RowsOf(a), columns = ColumnsOf(rhs);
  std::vector<Instruction*> solved;
  for (int64_t j = 0; j < n; ++j) {
    Instruction* row = TakeBlock(b, rhs, {j, 0, 1, columns});
    if (j > 0) {
      Instruction* before = TakeBlock(b, a, {j, 0, 1, j});
      row = b.Subtract(row, MatrixProduct(b, before, StackRows(b, solved)));
    }
    if (!unit) {
      Instruction* pivot = TakeBlock(b, a, {j, j, 1, 1});
      row = b.Divide(row, SpreadOverMatrix(b, pivot, row));
    }
    solved.push_back(row);
  }
  return StackRows(b, solved);
}

}  // namespace

bool TriangularSolveExpander::Matches(const Instruction& instruction) const {
  return !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.operand(1)->shape().has_dynamic_dims();
}

std::string TriangularSolveExpander::Name(const Instruction& solve) const {
  const auto& attrs = solve.attrs<TriangularSolveAttrs>();
  return fmt::format(
      "xla.triangular_solve_{}__{}_{}_{}_{}_{}", NamePart(solve.operand(0)->shape()),
      NamePart(solve.operand(1)->shape()), attrs.left_side ? "left" : "right",
      attrs.lower ? "lower" : "upper",
      attrs.transpose_a == TransposeKind::kInvalid ? "NO_TRANSPOSE" : Text(attrs.transpose_a),
      attrs.unit_diagonal ? "unit" : "nonunit");
}

absl::StatusOr<Instruction*> TriangularSolveExpander::Build(
    const Instruction& solve, const std::vector<Instruction*>& operands, Builder& b) const {
  const auto& attrs = solve.attrs<TriangularSolveAttrs>();
  Instruction *a = operands[0], *rhs = operands[1];
  if (rhs->shape().IsZeroSized()) return rhs;
  if (attrs.transpose_a == TransposeKind::kAdjoint) a = Conjugate(b, a);
  if (RowsOf(a) == 1 && attrs.unit_diagonal) return rhs;
  // From the right is from the left with everything transposed.
  const bool transposed = attrs.transpose_a == TransposeKind::kTranspose ||
                          attrs.transpose_a == TransposeKind::kAdjoint;
  const bool transposes = transposed == attrs.left_side;
  const bool lower = attrs.lower != transposes;
  if (transposes) a = TransposeMatrices(b, a);
  if (!attrs.left_side) rhs = TransposeMatrices(b, rhs);
  if (!lower) {
    a = ReverseRowsAndColumns(b, a);
    rhs = ReverseRows(b, rhs);
  }
  const int64_t n = RowsOf(a);
  const int64_t batch = a->shape().element_count() / (n * n);
  Instruction* x = nullptr;
  if (n == 1 || (batch > options_.block_size / 16 && n < options_.block_size / 4)) {
    x = SolveByRows(b, a, rhs, attrs.unit_diagonal);
  } else {
    a = LowerTriangle(b, a, attrs.unit_diagonal);
    ASSIGN_OR_RETURN(x, SolveByBlocks(b, a, rhs, options_.block_size, &solve));
  }
  if (!lower) x = ReverseRows(b, x);
  return attrs.left_side ? x : TransposeMatrices(b, x);
}

HLO_DEFINE_PASS(TriangularSolveExpander)

}  // namespace hlo
