#include "lib/eval/random_bits.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

// Known answers published with the generators.
TEST_CASE("Philox4x32-10 gives its known answers", "[eval][rng]") {
  CHECK(PhiloxBlock({0, 0, 0, 0}, 0) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(PhiloxBlock({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Threefry2x32-20 gives its known answers", "[eval][rng]") {
  CHECK(ThreeFryBlock({0, 0}, 0) == std::array<uint32_t, 2>{0x6b200159, 0x99ba4efe});
  CHECK(ThreeFryBlock({0x243f6a88, 0x85a308d3}, 0x0370734413198a2e) ==
        std::array<uint32_t, 2>{0xc4923a9c, 0x483df7a0});
}

TEST_CASE("the Philox counter carries into its upper half", "[eval][rng]") {
  Counter128 counter{~uint64_t{0}, 0};
  const auto words = PhiloxWords32(1, counter, 5);
  CHECK(words.size() == 5);
  CHECK(counter.low == 1);
  CHECK(counter.high == 1);
}

TEST_CASE("pairs lie along the first even dimension, else the largest", "[eval][rng]") {
  CHECK(PairDimension({}) == -1);
  CHECK(PairDimension({3, 4, 2}) == 1);
  CHECK(PairDimension({3, 5, 5}) == 1);
  CHECK(PairDimension({5, 0}) == 1);
}

}  // namespace
}  // namespace hlo
