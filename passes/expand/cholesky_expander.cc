#include "passes/expand/cholesky_expander.h"

#include <algorithm>
#include <limits>

#include "passes/util/counted_loop.h"
#include "passes/util/matrices.h"

namespace hlo {
namespace {

// Factors, and whether a pivot failed: pred[batch…, 1, 1].
struct Factors {
  Instruction* lower = nullptr;
  Instruction* failed = nullptr;
};

// The root of the real part of a diagonal element, and whether there is none.
Factors Pivot(Builder& b, Instruction* diagonal) {
  const ElementType type = diagonal->shape().element_type();
  Instruction* root = b.Sqrt(IsComplex(type) ? b.Real(diagonal) : diagonal);
  Instruction* failed = b.Compare(root, root, ComparisonDirection::kNe);
  return {IsComplex(type) ? b.Complex(root, b.ZeroLike(root)) : root, failed};
}

// Column by column: column j of `a`, less what the columns before make of it, divided by its pivot.
absl::StatusOr<Factors> FactorColumns(Builder& b, Instruction* a, const Instruction* origin) {
  const int64_t n = RowsOf(a);
  const std::vector<int64_t> one_sizes = SizesWithMatrix(a, 1, 1);
  if (n == 1) {
    const Factors pivot = Pivot(b, a);
    return Factors{b.Divide(a, pivot.lower), pivot.failed};
  }
  Instruction* none = b.Broadcast(b.Constant(Literal::Zero(ElementType::kPred)), one_sizes, {});
  const size_t rank = static_cast<size_t>(a->shape().rank());
  const CountedLoopBody body = [&](Builder& in, Instruction* j,
                                   const std::vector<Instruction*>& state) {
    Instruction *matrix = state[0], *lower = state[1];
    Instruction* zero = in.ScalarConstant(ElementType::kS32, 0);
    std::vector<Instruction*> column_start(rank, zero), row_start(rank, zero);
    column_start[rank - 1] = j;
    row_start[rank - 2] = j;
    Instruction* column = in.DynamicSlice(matrix, column_start, SizesWithMatrix(a, n, 1));
    Instruction* row = in.DynamicSlice(lower, row_start, SizesWithMatrix(a, 1, n));
    column = in.Subtract(column, MatrixProductTransposed(in, lower, Conjugate(in, row)));
    const Factors pivot = Pivot(in, in.DynamicSlice(column, row_start, one_sizes));
    Instruction* divided = in.Divide(column, SpreadOverMatrix(in, pivot.lower, column));
    Instruction* number = in.Iota(Shape::Array(ElementType::kS32, column->shape().dims()),
                                  static_cast<int64_t>(rank) - 2);
    Instruction* is_below =
        in.Compare(number, in.Broadcast(j, column->shape().dims(), {}), ComparisonDirection::kGe);
    Instruction* done = in.Select(is_below, divided, in.ZeroLike(divided));
    return std::vector<Instruction*>{matrix, in.DynamicUpdateSlice(lower, done, column_start),
                                     in.Or(state[2], pivot.failed)};
  };
  ASSIGN_OR_RETURN(const std::vector<Instruction*> result,
                   MakeCountedLoop(b, static_cast<int32_t>(n), {a, b.ZeroLike(a), none}, body,
                                   "factor_columns", origin));
  return Factors{result[1], result[2]};
}

Instruction* SolveFromTheRight(Builder& b, Instruction* lower, Instruction* rhs) {
  TriangularSolveAttrs attrs;
  attrs.lower = true;
  attrs.transpose_a = TransposeKind::kAdjoint;
  return b.Op(Opcode::kTriangularSolve, {lower, rhs}, AttrsPtr::Make(attrs));
}

absl::StatusOr<Factors> FactorBlocks(Builder& b, Instruction* a, int64_t block_size,
                                     const Instruction* origin) {
  const int64_t n = RowsOf(a);
  if (n <= block_size) return FactorColumns(b, a, origin);
  Factors result{b.ZeroLike(a), nullptr};
  for (int64_t i = 0; i < n; i += block_size) {
    const int64_t k = std::min(block_size, n - i), below = n - i - k;
    Instruction* panel = TakeBlock(b, a, {i, i, n - i, k});
    if (i > 0) {
      Instruction* rows = TakeBlock(b, result.lower, {i, 0, n - i, i});
      Instruction* block_rows = TakeBlock(b, result.lower, {i, 0, k, i});
      panel = b.Subtract(panel, MatrixProductTransposed(b, rows, Conjugate(b, block_rows)));
    }
    ASSIGN_OR_RETURN(const Factors block,
                     FactorColumns(b, TakeBlock(b, panel, {0, 0, k, k}), origin));
    result.failed = result.failed == nullptr ? block.failed : b.Or(result.failed, block.failed);
    result.lower = PutBlock(b, result.lower, block.lower, i, i);
    if (below == 0) continue;
    Instruction* rest = TakeBlock(b, panel, {k, 0, below, k});
    result.lower = PutBlock(b, result.lower, SolveFromTheRight(b, block.lower, rest), i + k, i);
  }
  return result;
}

}  // namespace

bool CholeskyExpander::Matches(const Instruction& instruction) const {
  return !instruction.shape().has_dynamic_dims();
}

std::string CholeskyExpander::Name(const Instruction& cholesky) const {
  return fmt::format("xla.cholesky_{}_{}", NamePart(cholesky.shape()),
                     cholesky.attrs<CholeskyAttrs>().lower ? "lower" : "upper");
}

absl::StatusOr<Instruction*> CholeskyExpander::Build(const Instruction& cholesky,
                                                     const std::vector<Instruction*>& operands,
                                                     Builder& b) const {
  Instruction* a = operands[0];
  if (a->shape().IsZeroSized()) return a;
  const bool lower = cholesky.attrs<CholeskyAttrs>().lower;
  if (!lower) a = TransposeMatrices(b, a);
  ASSIGN_OR_RETURN(const Factors factors, FactorBlocks(b, a, options_.block_size, &cholesky));
  Instruction* nan = b.ConstantLike(a, std::numeric_limits<double>::quiet_NaN());
  Instruction* result = b.Select(SpreadOverMatrix(b, factors.failed, a), nan, factors.lower);
  return lower ? result : TransposeMatrices(b, result);
}

HLO_DEFINE_PASS(CholeskyExpander)

}  // namespace hlo
