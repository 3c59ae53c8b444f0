#include "lib/math/random.h"

#include <catch2/catch.hpp>

#include "lib/math/native.h"

namespace hlo::math {
namespace {

// Known answers published with the generators.
TEST_CASE("Philox4x32-10 gives its known answers", "[math][random]") {
  CHECK(PhiloxBlock<uint32_t>({0, 0, 0, 0}, 0, 0) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(PhiloxBlock<uint32_t>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822,
                              0x299f31d0) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Threefry2x32-20 gives its known answers", "[math][random]") {
  CHECK(ThreeFryBlock<uint32_t>({0, 0}, 0, 0) == std::array<uint32_t, 2>{0x6b200159, 0x99ba4efe});
  CHECK(ThreeFryBlock<uint32_t>({0x243f6a88, 0x85a308d3}, 0x13198a2e, 0x03707344) ==
        std::array<uint32_t, 2>{0xc4923a9c, 0x483df7a0});
}

TEST_CASE("a counter of two words carries", "[math][random]") {
  CHECK(Advance<uint64_t>(~uint64_t{0}, 7, 1) == std::pair<uint64_t, uint64_t>{0, 8});
  CHECK(Advance<uint64_t>(5, 7, 3) == std::pair<uint64_t, uint64_t>{8, 7});
}

TEST_CASE("uniform numbers stay in their range", "[math][random]") {
  const uint64_t most = ~uint64_t{0};
  CHECK(UnitInterval(most, 23) < 1);
  CHECK(static_cast<float>(UnitInterval(most, 23)) < 1);
  CHECK(UnitInterval(uint64_t{0}, 52) == 0);
  CHECK(UniformFloat(UnitInterval(most, 52), -2.0, 3.0) < 3);
  CHECK(UniformInteger<uint64_t>(most, 3, 10) < 10);
  CHECK(UniformInteger<uint64_t>(most, 3, 3) == 3);
}

TEST_CASE("a normal deviate of the smallest number is finite", "[math][random]") {
  CHECK(NormalFloat(0.0, 0.25, 1.0, 2.0) == Approx(1 + 2 * std::sqrt(-2 * std::log(1e-7))));
}

}  // namespace
}  // namespace hlo::math
