// A piece of one allocation of an executable. Slices are what thunks refer to; addresses exist only
// during a run.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace hlo {

struct BufferSlice {
  int allocation = -1;  // -1: no memory (tokens, empty arrays)
  int64_t offset = 0;
  int64_t size = 0;
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;

  bool Overlaps(const BufferSlice& other) const {
    return allocation >= 0 && allocation == other.allocation &&
           offset < other.offset + other.size && other.offset < offset + size;
  }
  // "a3[64:192]"
  std::string ToString() const {
    return allocation < 0 ? "-" : fmt::format("a{}[{}:{}]", allocation, offset, offset + size);
  }
};

}  // namespace hlo
