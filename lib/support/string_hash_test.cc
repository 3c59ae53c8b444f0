#include "lib/support/string_hash.h"

#include <catch2/catch.hpp>
#include <string>

namespace hlo {
namespace {

TEST_CASE("texts are equal when every byte is, at every length", "[support]") {
  for (size_t size = 0; size <= 40; ++size) {
    const std::string a(size, 'x');
    CHECK(StringEqual()(a, std::string(size, 'x')));
    CHECK(StringHash()(a) == StringHash()(std::string(size, 'x')));
    CHECK_FALSE(StringEqual()(a, std::string(size + 1, 'x')));
    for (size_t at = 0; at < size; ++at) {
      std::string b = a;
      b[at] = 'y';
      CHECK_FALSE(StringEqual()(a, b));
      CHECK(StringHash()(a) != StringHash()(b));
    }
  }
}

}  // namespace
}  // namespace hlo
