// Arrays of two or more dimensions as batches of matrices: the last two dimensions are
// rows and columns.
#pragma once

#include "lib/ir/builder.h"

namespace hlo {

int64_t RowsOf(const Instruction* x);
int64_t ColumnsOf(const Instruction* x);
// The sizes of `x` with others for the matrices.
std::vector<int64_t> SizesWithMatrix(const Instruction* x, int64_t rows, int64_t columns);

// Rows [row, row + rows) and columns [column, column + columns).
struct MatrixBlock {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};
Instruction* TakeBlock(Builder& builder, Instruction* x, const MatrixBlock& block);
// `x` with the matrices of `block` at these places.
Instruction* PutBlock(Builder& builder, Instruction* x, Instruction* block, int64_t row,
                      int64_t column);
// Blocks one below the other.
Instruction* StackRows(Builder& builder, const std::vector<Instruction*>& blocks);

Instruction* TransposeMatrices(Builder& builder, Instruction* x);
// Complex conjugates; real numbers as they are.
Instruction* Conjugate(Builder& builder, Instruction* x);
bool IsComplexArray(const Instruction* x);
// The real parts of complex numbers; real ones as they are.
Instruction* RealPart(Builder& builder, Instruction* x);
// Numbers of the type of `like`, which is complex or that of `x`.
Instruction* AsTypeOf(Builder& builder, Instruction* x, const Instruction* like);
// Rows in the opposite order; columns too.
Instruction* ReverseRows(Builder& builder, Instruction* x);
Instruction* ReverseRowsAndColumns(Builder& builder, Instruction* x);

// x · y, or x · yᵀ, in the highest precision.
Instruction* MatrixProduct(Builder& builder, Instruction* x, Instruction* y);
Instruction* MatrixProductTransposed(Builder& builder, Instruction* x, Instruction* y);

// One number for each matrix, [batch…, 1, 1], in the sizes of `like`.
Instruction* SpreadOverMatrix(Builder& builder, Instruction* number, const Instruction* like);

// pred of the sizes of `x`: where the number of the row and that of the column, in this order,
// compare as said.
Instruction* CompareRowAndColumn(Builder& builder, const Instruction* x,
                                 ComparisonDirection direction);

}  // namespace hlo
