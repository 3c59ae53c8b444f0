// passes/gpu/library_products.h
//
// Which products cuBLAS multiplies as they lie in memory, and which of those it should: large ones.
// Smaller ones cost less in kernels of our own, which take in what follows them.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/ir/instruction.h"

namespace hlo {

// result[batch, row, column] = sum over depth of
//     lhs[batch, row, depth] * rhs[batch, depth, column],
// all arrays dense and row-major. The result lies as [batch, row, column].
struct LibraryProduct {
  // An operand: its free index is that of rows or of columns.
  struct Side {
    bool free_is_minor = false;  // neighbours in memory differ in the free index, else in the depth
    int64_t stride = 0;          // elements from one of the other index to the next
    int64_t batch_stride = 0;    // elements
  };
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  Side lhs, rhs;
  ElementType factor = ElementType::kF32, result = ElementType::kF32;
  // Factors of f32 may be cut to 10 digits (TF32): of default precision, as XLA has it.
  bool may_cut = false;
};

// Whether factors of f32 may be cut to TF32 where the user allows it: no operand's precision is
// asked for.
bool MayCut(const PrecisionConfig& precision);

// The product that a `dot` is; none where an operand would have to be transposed first, for other
// types, and where the algorithm is one that must be done by other kernels.
std::optional<LibraryProduct> AsLibraryProduct(const Instruction& dot);

// Whether it is large enough for a library to be worth its call.
bool IsForLibrary(const LibraryProduct& product);

}  // namespace hlo
