// backends/cpu/arena.h
//
// Memory for buffers that the compiler has placed: a single block.
//
// The block starts at a multiple of 2 MiB, asks for huge pages, and is touched once when it is
// made, so that no page fault falls into a run. Too large a request is an error, not an abort.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace hlo::cpu {

class Arena final {
 public:
  // Offsets inside an arena are multiples of this.
  static constexpr int64_t kAlignment = 64;

  // Memory of at least `bytes` bytes, all zero. More than `limit` bytes (0: no limit), or than is
  // available, is an error.
  static absl::StatusOr<Arena> Create(int64_t bytes, int64_t limit = 0);

  // The error of Create, before it is needed.
  static absl::Status CheckRoom(int64_t bytes, int64_t limit = 0);

  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  // The first byte; null for an empty arena.
  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  Arena(std::byte* data, int64_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  int64_t size_ = 0;  // as mapped: a multiple of the page size used
};

}  // namespace hlo::cpu
