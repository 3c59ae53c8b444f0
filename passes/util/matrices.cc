#include "passes/util/matrices.h"

#include <numeric>

namespace hlo {
namespace {

int RowDimension(const Instruction* x) { return x->shape().rank() - 2; }
int ColumnDimension(const Instruction* x) { return x->shape().rank() - 1; }

Instruction* ContractColumns(Builder& builder, Instruction* x, Instruction* y, int y_contracted) {
  DotAttrs attrs;
  for (int i = 0; i < RowDimension(x); ++i) {
    attrs.lhs_batch_dims.push_back(i);
    attrs.rhs_batch_dims.push_back(i);
  }
  attrs.lhs_contracting_dims = {ColumnDimension(x)};
  attrs.rhs_contracting_dims = {y_contracted};
  attrs.operand_precision.values = {Precision::kHighest, Precision::kHighest};
  return builder.Dot(x, y, std::move(attrs));
}

}  // namespace

int64_t RowsOf(const Instruction* x) { return x->shape().dim(RowDimension(x)); }
int64_t ColumnsOf(const Instruction* x) { return x->shape().dim(ColumnDimension(x)); }

std::vector<int64_t> SizesWithMatrix(const Instruction* x, int64_t rows, int64_t columns) {
  std::vector<int64_t> sizes(x->shape().dims().begin(), x->shape().dims().end() - 2);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

Instruction* TakeBlock(Builder& builder, Instruction* x, const MatrixBlock& block) {
  std::vector<int64_t> starts(static_cast<size_t>(x->shape().rank()), 0);
  starts[static_cast<size_t>(RowDimension(x))] = block.row;
  starts[static_cast<size_t>(ColumnDimension(x))] = block.column;
  return builder.Slice(x, starts,
                       SizesWithMatrix(x, block.row + block.rows, block.column + block.columns));
}

Instruction* PutBlock(Builder& builder, Instruction* x, Instruction* block, int64_t row,
                      int64_t column) {
  Instruction* zero = builder.ScalarConstant(ElementType::kS32, 0);
  std::vector<Instruction*> starts(static_cast<size_t>(x->shape().rank()), zero);
  const auto at = [&](int64_t place) {
    return place == 0 ? zero
                      : builder.ScalarConstant(ElementType::kS32, static_cast<double>(place));
  };
  starts[static_cast<size_t>(RowDimension(x))] = at(row);
  starts[static_cast<size_t>(ColumnDimension(x))] = at(column);
  return builder.DynamicUpdateSlice(x, block, starts);
}

Instruction* StackRows(Builder& builder, const std::vector<Instruction*>& blocks) {
  return blocks.size() == 1 ? blocks[0] : builder.Concatenate(blocks, RowDimension(blocks[0]));
}

Instruction* TransposeMatrices(Builder& builder, Instruction* x) {
  std::vector<int64_t> permutation(static_cast<size_t>(x->shape().rank()));
  absl::c_iota(permutation, 0);
  std::swap(permutation[permutation.size() - 2], permutation[permutation.size() - 1]);
  return builder.Transpose(x, permutation);
}

Instruction* Conjugate(Builder& builder, Instruction* x) {
  if (!IsComplex(x->shape().element_type())) return x;
  return builder.Complex(builder.Real(x), builder.Negate(builder.Imag(x)));
}

bool IsComplexArray(const Instruction* x) { return IsComplex(x->shape().element_type()); }

Instruction* RealPart(Builder& builder, Instruction* x) {
  return IsComplexArray(x) ? builder.Real(x) : x;
}

Instruction* AsTypeOf(Builder& builder, Instruction* x, const Instruction* like) {
  return IsComplexArray(like) && !IsComplexArray(x) ? builder.Complex(x, builder.ZeroLike(x)) : x;
}

Instruction* ReverseRows(Builder& builder, Instruction* x) {
  return builder.Reverse(x, {RowDimension(x)});
}

Instruction* ReverseRowsAndColumns(Builder& builder, Instruction* x) {
  return builder.Reverse(x, {RowDimension(x), ColumnDimension(x)});
}

Instruction* MatrixProduct(Builder& builder, Instruction* x, Instruction* y) {
  return ContractColumns(builder, x, y, RowDimension(y));
}

Instruction* MatrixProductTransposed(Builder& builder, Instruction* x, Instruction* y) {
  return ContractColumns(builder, x, y, ColumnDimension(y));
}

Instruction* SpreadOverMatrix(Builder& builder, Instruction* number, const Instruction* like) {
  const absl::Span<const int64_t> batch =
      number->shape().dims().first(static_cast<size_t>(RowDimension(number)));
  std::vector<int64_t> dimensions(batch.size());
  absl::c_iota(dimensions, 0);
  return builder.Broadcast(builder.Reshape(number, batch), like->shape().dims(), dimensions);
}

Instruction* CompareRowAndColumn(Builder& builder, const Instruction* x,
                                 ComparisonDirection direction) {
  const Shape numbers = Shape::Array(ElementType::kS32, x->shape().dims());
  return builder.Compare(builder.Iota(numbers, RowDimension(x)),
                         builder.Iota(numbers, ColumnDimension(x)), direction);
}

}  // namespace hlo
