// backends/gpu/emit/index/array_index.h
//
// The place of one element in an array: its number in row-major order, its position along each
// dimension, or both. The one that is missing is computed where it is first wanted, so that chains
// of elementwise operations and reshapes never divide.
#pragma once

#include <llvm/IR/Value.h>

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace hlo::gpu {

class IndexBuilder;

class ArrayIndex final {
 public:
  using Positions = absl::InlinedVector<llvm::Value*, 6>;

  // Of the only element of a scalar.
  ArrayIndex() = default;
  static ArrayIndex Linear(absl::Span<const int64_t> dims, llvm::Value* linear);
  // As Linear; of a scalar the index that elementwise operations use.
  static ArrayIndex Element(absl::Span<const int64_t> dims, llvm::Value* linear) {
    return dims.empty() ? ArrayIndex() : Linear(dims, linear);
  }
  static ArrayIndex At(absl::Span<const int64_t> dims, Positions positions);

  absl::Span<const int64_t> dims() const { return dims_; }
  // The number of the element.
  llvm::Value* linear(IndexBuilder& builder) const;
  // Positions along all dimensions.
  Positions positions(IndexBuilder& builder) const;
  // The element of the same number in an array of other dimensions.
  ArrayIndex Reshaped(absl::Span<const int64_t> dims, IndexBuilder& builder) const;

  // Equal indices are the same element; unequal ones may be.
  friend bool operator==(const ArrayIndex& a, const ArrayIndex& b) {
    return a.linear_ == b.linear_ && a.positions_ == b.positions_ && a.dims_ == b.dims_;
  }

 private:
  absl::InlinedVector<int64_t, 6> dims_;
  llvm::Value* linear_ = nullptr;
  Positions positions_;  // empty when not known
};

}  // namespace hlo::gpu
