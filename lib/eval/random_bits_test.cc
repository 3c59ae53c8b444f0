#include "lib/eval/random_bits.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

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
