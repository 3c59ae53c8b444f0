// Which dots are products that cuBLAS knows.
#pragma once

#include "lib/ir/module.h"
#include "lib/support/decision.h"
#include "passes/util/cuda_capability.h"

namespace hlo {

// Of a dot with at most one contracted and one free dimension on each side.
struct MatrixProduct {
  int batch_dims = 0;
  int64_t batches = 1;
  int64_t rows = 1;     // the free dimension of the left side
  int64_t columns = 1;  // of the right side
  int64_t contracted = 1;
  int64_t size() const { return (rows + columns) * contracted; }
};
MatrixProduct MatrixProductOf(const Instruction& dot);

// Whether both sides are matrices, or one a vector with `allow_vectors`, in each batch, and their
// dimensions lie as the library takes them.
Decision IsMatrixProduct(const Instruction& dot, bool allow_vectors);
// Whether cuBLAS computes it; without `allow_vectors` both sides are matrices.
Decision IsLibraryProduct(const Instruction& dot, bool allow_vectors);
// Whether there are products of these types at all: cuBLAS and cublasLt have one table.
bool IsProductType(ElementType lhs, ElementType rhs, ElementType result);
// Whether cublasLt computes what cuBLAS does: its batches are counted in 16 bits, and the columns
// of c64 are bounded before Ampere.
Decision FitsLt(const Instruction& dot, CudaCapability compute_capability);
// Whether it adds vectors and applies functions to results of this type.
bool IsEpilogueType(ElementType type);

}  // namespace hlo
