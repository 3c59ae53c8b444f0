#include "backends/gpu/emit/array_index.h"

#include <utility>

#include "backends/gpu/emit/kernel_builder.h"

namespace hlo::gpu {

ArrayIndex ArrayIndex::Linear(absl::Span<const int64_t> dims, llvm::Value* linear) {
  ArrayIndex index;
  index.dims_.assign(dims.begin(), dims.end());
  index.linear_ = linear;
  return index;
}

ArrayIndex ArrayIndex::At(absl::Span<const int64_t> dims, Positions positions) {
  ArrayIndex index;
  index.dims_.assign(dims.begin(), dims.end());
  index.positions_ = std::move(positions);
  return index;
}

llvm::Value* ArrayIndex::linear(KernelBuilder& kernel) const {
  if (linear_ != nullptr) return linear_;
  llvm::Value* sum = kernel.Index(0);
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d] == 1) continue;
    sum = kernel.Add(kernel.Scale(sum, dims_[d]), positions_[d]);
  }
  return sum;
}

ArrayIndex::Positions ArrayIndex::positions(KernelBuilder& kernel) const {
  if (linear_ == nullptr) return positions_;
  Positions result(dims_.size(), nullptr);
  size_t outermost = dims_.size();
  for (size_t d = dims_.size(); d-- > 0;) {
    if (dims_[d] != 1) outermost = d;
  }
  llvm::Value* rest = linear_;
  for (size_t d = dims_.size(); d-- > 0;) {
    if (dims_[d] == 1) {
      result[d] = kernel.Index(0);
    } else if (d == outermost) {
      result[d] = rest;
    } else {
      result[d] = kernel.Rem(rest, dims_[d]);
      rest = kernel.Div(rest, dims_[d]);
    }
  }
  return result;
}

ArrayIndex ArrayIndex::Reshaped(absl::Span<const int64_t> dims, KernelBuilder& kernel) const {
  // Dimensions of size 1 come and go without arithmetic.
  if (linear_ == nullptr) {
    absl::InlinedVector<int64_t, 6> from, to;
    Positions kept;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (dims_[d] == 1) continue;
      from.push_back(dims_[d]);
      kept.push_back(positions_[d]);
    }
    for (const int64_t size : dims) {
      if (size != 1) to.push_back(size);
    }
    if (from == to) {
      Positions result;
      size_t next = 0;
      for (const int64_t size : dims) result.push_back(size == 1 ? kernel.Index(0) : kept[next++]);
      return At(dims, std::move(result));
    }
  }
  return Linear(dims, linear(kernel));
}

}  // namespace hlo::gpu
