#include "lib/types/append.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

TEST_CASE("plain text is found byte by byte at every length and place", "[types]") {
  for (size_t size = 0; size <= 40; ++size) {
    CHECK(internal::IsPlain(std::string(size, 'a')));
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, '~');
        text[at] = static_cast<char>(byte);
        const bool plain =
            byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\'' && byte != '\\';
        if (internal::IsPlain(text) != plain)
          FAIL("byte " << byte << " at " << at << " of " << size);
      }
    }
  }
}

}  // namespace
}  // namespace hlo
