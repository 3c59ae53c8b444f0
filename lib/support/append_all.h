// Several texts appended at once: one call into the library instead of one per piece, for writers
// of many short pieces.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hlo {

namespace internal {

// Copies `text` to `to` and returns the byte after it; short texts without a call.
inline char* PutShort(char* to, std::string_view text) {
  const char* from = text.data();
  const size_t size = text.size();
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else if (size > 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
  return to + size;
}

}  // namespace internal

template <class... Pieces>
void AppendAll(std::string& out, Pieces... pieces) {
  char buffer[256];
  if ((std::string_view(pieces).size() + ...) > sizeof(buffer)) {
    ((out += std::string_view(pieces)), ...);
    return;
  }
  char* at = buffer;
  ((at = internal::PutShort(at, pieces)), ...);
  out.append(buffer, static_cast<size_t>(at - buffer));
}

}  // namespace hlo
