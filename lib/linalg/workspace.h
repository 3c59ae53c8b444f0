// lib/linalg/workspace.h
//
// Memory that the routines need beside their arguments, reused from matrix to matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace hlo::linalg {

class Workspace final {
 public:
  // `count` values, all zero bytes, until Reset.
  template <class T>
  T* Take(int64_t count) {
    const size_t bytes =
        (static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T) + 63) / 64 * 64;
    if (chunks_.empty() || used_ + bytes > chunks_.back().size) {
      const size_t size = std::max(bytes, chunks_.empty() ? size_t{4096} : 2 * chunks_.back().size);
      chunks_.push_back({std::make_unique<std::byte[]>(size + 63), size});
      used_ = 0;
    }
    const auto base = reinterpret_cast<uintptr_t>(chunks_.back().memory.get());
    std::byte* const at = reinterpret_cast<std::byte*>((base + 63) / 64 * 64) + used_;
    used_ += bytes;
    std::memset(at, 0, bytes);
    return reinterpret_cast<T*>(at);
  }

  // Everything taken so far is free again.
  void Reset() {
    if (chunks_.size() > 1) {
      chunks_.front() = std::move(chunks_.back());
      chunks_.resize(1);
    }
    used_ = 0;
  }

  // The size of scratch memory that LAPACK asked for; the same for all matrices of a call. Zero
  // until it was asked.
  int lapack_size = 0;

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t used_ = 0;
};

}  // namespace hlo::linalg
