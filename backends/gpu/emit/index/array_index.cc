#include "backends/gpu/emit/index/array_index.h"

#include <utility>

#include "backends/gpu/emit/index/index_builder.h"

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

llvm::Value* ArrayIndex::linear(IndexBuilder& builder) const {
  if (linear_ != nullptr) return linear_;
  llvm::Value* sum = builder.Index(0);
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d] == 1) continue;
    sum = builder.Add(builder.Scale(sum, dims_[d]), positions_[d]);
  }
  return sum;
}

ArrayIndex::Positions ArrayIndex::positions(IndexBuilder& builder) const {
  if (linear_ == nullptr) return positions_;
  Positions result(dims_.size(), nullptr);
  size_t outermost = dims_.size();
  for (size_t d = dims_.size(); d-- > 0;) {
    if (dims_[d] != 1) outermost = d;
  }
  llvm::Value* rest = linear_;
  for (size_t d = dims_.size(); d-- > 0;) {
    if (dims_[d] == 1) {
      result[d] = builder.Index(0);
    } else if (d == outermost) {
      result[d] = rest;
    } else {
      result[d] = builder.Rem(rest, dims_[d]);
      rest = builder.Div(rest, dims_[d]);
    }
  }
  return result;
}

ArrayIndex ArrayIndex::Reshaped(absl::Span<const int64_t> dims, IndexBuilder& builder) const {
  if (dims == dims_) return *this;
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
      for (const int64_t size : dims) result.push_back(size == 1 ? builder.Index(0) : kept[next++]);
      return At(dims, std::move(result));
    }
  }
  return Linear(dims, linear(builder));
}

}  // namespace hlo::gpu
