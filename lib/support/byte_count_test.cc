#include "lib/support/byte_count.h"

#include <catch2/catch.hpp>
#include <limits>

namespace hlo {
namespace {

TEST_CASE("counts of bytes are written with their unit", "[support][byte-count]") {
  CHECK(ByteCountText(0) == "0B");
  CHECK(ByteCountText(1023) == "1023B");
  CHECK(ByteCountText(1536) == "1.5KiB");
  CHECK(ByteCountText(2 << 20) == "2.00MiB");
  CHECK(ByteCountText(int64_t{5} << 40) == "5.00TiB");
  CHECK(ByteCountText(std::numeric_limits<int64_t>::max()) == "8.00EiB");
}

}  // namespace
}  // namespace hlo
