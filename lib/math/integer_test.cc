#include "lib/math/integer.h"

#include <bit>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace hlo::math {
namespace {

// Values of a type of `bits` that lies in a T: all of them if they are few, else the ends and
// random ones.
template <class T>
std::vector<T> Samples(int bits) {
  std::vector<T> samples;
  if (bits <= 8) {
    for (int pattern = 0; pattern < 1 << bits; ++pattern)
      samples.push_back(WrapInt(static_cast<T>(pattern), bits));
    return samples;
  }
  const T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  samples = {0,
             1,
             2,
             3,
             7,
             31,
             32,
             63,
             64,
             100,
             static_cast<T>(-1),
             static_cast<T>(-2),
             lowest,
             static_cast<T>(lowest + 1),
             highest};
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; ++i) samples.push_back(static_cast<T>(random() >> (random() % 64)));
  return samples;
}

using Wide = __int128;

template <class T>
Wide Modulo(Wide value, int bits) {
  Wide low = value & ((static_cast<Wide>(1) << bits) - 1);
  if (std::is_signed_v<T> && (low >> (bits - 1)) != 0) low -= static_cast<Wide>(1) << bits;
  return low;
}

// The definitions, on integers that cannot overflow.
template <class T>
void CheckPair(T a, T b, int bits) {
  CAPTURE(bits, +a, +b, std::is_signed_v<T>);
  const Wide x = a, y = b, one = 1;
  const Wide pattern = x & ((one << bits) - 1);
  const Wide all_ones = Modulo<T>(-1, bits);

  const Wide quotient = y == 0 ? all_ones : Modulo<T>(x / y, bits);
  const Wide remainder = y == 0 ? x : x % y;
  bool good = IntDivide(a, b, bits) == quotient && IntRemainder(a, b, bits) == remainder;
  good =
      good &&
      IntMulHigh(a, b, bits) ==
          (bits == 64 && !std::is_signed_v<T>
               ? static_cast<Wide>(
                     (static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)) >> 64)
               : (x * y) >> bits);
  const bool in_range = y >= 0 && y < bits;
  const int count = in_range ? static_cast<int>(y) : 0;
  good =
      good &&
      ShiftLeft(a, b, bits) ==
          (in_range ? Modulo<T>(static_cast<Wide>(static_cast<unsigned __int128>(x) << count), bits)
                    : 0);
  good =
      good && ShiftRightLogical(a, b, bits) == (in_range ? Modulo<T>(pattern >> count, bits) : 0);
  const Wide as_signed = (pattern >> (bits - 1)) != 0 ? pattern - (one << bits) : pattern;
  good = good && ShiftRightArithmetic(a, b, bits) ==
                     Modulo<T>(as_signed >> (in_range ? count : bits - 1), bits);
  REQUIRE(good);

  if (y > 64 && x != 0 && x != 1) return;  // the slow power below counts up
  Wide power = 1;
  for (Wide i = 0; i < y; ++i) {
    using Bits = unsigned __int128;
    power = Modulo<T>(static_cast<Wide>(static_cast<Bits>(power) * static_cast<Bits>(x)), bits);
    if (power == 0 || x == 1) break;
  }
  if (y < 0) power = x == 1 ? 1 : 0;
  REQUIRE(IntPower(a, b, bits) == Modulo<T>(power, bits));
}

template <class T>
void CheckType(int bits) {
  const std::vector<T> samples = Samples<T>(bits);
  for (T a : samples) {
    CAPTURE(bits, +a);
    int leading = 0;
    const uint64_t pattern = static_cast<uint64_t>(a) & (~uint64_t{0} >> (64 - bits));
    while (leading < bits && (pattern >> (bits - 1 - leading) & 1) == 0) ++leading;
    REQUIRE(CountLeadingZeros(a, bits) == static_cast<T>(Modulo<T>(leading, bits)));
    REQUIRE(PopulationCount(a, bits) == static_cast<T>(Modulo<T>(std::popcount(pattern), bits)));
    const Wide magnitude = a < 0 ? -static_cast<Wide>(a) : static_cast<Wide>(a);
    if (std::is_signed_v<T>) REQUIRE(IntAbs(a, bits) == Modulo<T>(magnitude, bits));
    REQUIRE(IntSign(a) == static_cast<T>((a > 0) - (a < 0)));
    for (size_t i = 0; i < samples.size(); i += bits == 8 ? 3 : 1) CheckPair(a, samples[i], bits);
  }
}

TEST_CASE("integer operations follow their definitions at every width", "[math][integer]") {
  for (int bits : {2, 4, 8}) CheckType<int8_t>(bits);
  for (int bits : {1, 2, 4, 8}) CheckType<uint8_t>(bits);
  CheckType<int16_t>(16);
  CheckType<uint16_t>(16);
  CheckType<int32_t>(32);
  CheckType<uint32_t>(32);
  CheckType<int64_t>(64);
  CheckType<uint64_t>(64);
}

TEST_CASE("integer operations at their corners", "[math][integer]") {
  CHECK(IntDivide(-7, 2) == -3);
  CHECK(IntRemainder(-7, 2) == -1);
  CHECK(IntDivide(std::numeric_limits<int32_t>::min(), -1) == std::numeric_limits<int32_t>::min());
  CHECK(IntRemainder(std::numeric_limits<int64_t>::min(), int64_t{-1}) == 0);
  CHECK(IntDivide(5, 0) == -1);
  CHECK(IntDivide(5u, 0u) == 0xffffffffu);
  CHECK(IntDivide(uint8_t{5}, uint8_t{0}, 4) == 15);
  CHECK(IntRemainder(5, 0) == 5);
  CHECK(IntPower(-1, -1) == 0);
  CHECK(IntPower(1, -3) == 1);
  CHECK(IntPower(0, 0) == 1);
  CHECK(IntPower(uint64_t{3}, ~uint64_t{0}) ==
        uint64_t{0xaaaaaaaaaaaaaaab});  // the inverse of 3 modulo 2^64
  CHECK(ShiftLeft(1, 31) == std::numeric_limits<int32_t>::min());
  CHECK(ShiftLeft(1, 32) == 0);
  CHECK(ShiftLeft(1, -1) == 0);
  CHECK(ShiftRightArithmetic(-8, 100) == -1);
  CHECK(ShiftRightArithmetic(uint8_t{0x80}, uint8_t{9}) == 0xff);
  CHECK(ShiftRightLogical(-8, 1) == 2147483644);
  CHECK(CountLeadingZeros(uint8_t{1}) == 7);
  CHECK(CountLeadingZeros(int8_t{-1}) == 0);
  CHECK(PopulationCount(int8_t{-1}) == 8);
  CHECK(PopulationCount(int8_t{-1}, 4) == 4);
  CHECK(IntMulHigh(int8_t{-128}, int8_t{-128}) == 64);
  CHECK(IntMulHigh(uint8_t{255}, uint8_t{255}) == 254);
  CHECK(IntMulHigh(int8_t{-8}, int8_t{-8}, 4) == 4);
}

}  // namespace
}  // namespace hlo::math
