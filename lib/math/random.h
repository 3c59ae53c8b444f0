// lib/math/random.h
//
// The counter-based generators of HLO, and the numbers that `rng` makes of their words, for any
// value type V of u32 words and W of u64 words (README.md). The words are defined bit for bit.
//
// Source of the rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", 2011.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "lib/math/exp_log.h"
#include "lib/math/primitives.h"
#include "lib/math/trig.h"

namespace hlo::math {

// The halves of u64 words, as u32.
template <class V>
struct Halves {
  V low;
  V high;
};
template <class W>
auto SplitWord(W word) {
  const auto low = Cast<uint32_t>(word);
  return Halves<Rebind<W, uint32_t>>{low, Cast<uint32_t>(Lshr(word, 32))};
}
template <class V>
Rebind<V, uint64_t> JoinWord(V low, V high) {
  return Or(Cast<uint64_t>(low), Shl(Cast<uint64_t>(high), 32));
}

// A counter of two u64 words, low and high, moved on by `steps`.
template <class W>
std::pair<W, W> Advance(W low, W high, W steps) {
  const W sum = Add(low, steps);
  return {sum, Add(high, Cast<uint64_t>(Less(sum, steps)))};
}

// Philox4x32-10: four words for a counter of four, under a key of two.
template <class V>
std::array<V, 4> PhiloxBlock(std::array<V, 4> x, V key0, V key1) {
  const auto product = [](V word, int64_t factor) {
    const auto wide = Cast<uint64_t>(word);
    return SplitWord(Mul(wide, IntConst(wide, factor)));
  };
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = Add(key0, IntConst(key0, 0x9E3779B9));
      key1 = Add(key1, IntConst(key1, 0xBB67AE85));
    }
    const Halves<V> p0 = product(x[0], 0xD2511F53);
    const Halves<V> p1 = product(x[2], 0xCD9E8D57);
    x = {Xor(Xor(p1.high, x[1]), key0), p1.low, Xor(Xor(p0.high, x[3]), key1), p0.low};
  }
  return x;
}

// Threefry2x32-20: two words for a counter of two, under a key of two.
template <class V>
std::array<V, 2> ThreeFryBlock(std::array<V, 2> x, V key0, V key1) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const V mixed = Xor(Xor(key0, key1), IntConst(key0, 0x1BD11BDA));
  const std::array<V, 3> schedule = {key0, key1, mixed};
  x = {Add(x[0], schedule[0]), Add(x[1], schedule[1])};
  for (size_t group = 1; group <= 5; ++group) {
    for (const int rotation : kRotations[(group - 1) % 2]) {
      x[0] = Add(x[0], x[1]);
      const V turned = Or(Shl(x[1], rotation), Lshr(x[1], 32 - rotation));
      x[1] = Xor(turned, x[0]);
    }
    const V second = schedule[(group + 1) % 3];
    const V step = Add(second, IntConst(second, static_cast<int64_t>(group)));
    x = {Add(x[0], schedule[group % 3]), Add(x[1], step)};
  }
  return x;
}

// The same of u64 words: a counter of two, or of one, and a key.
template <class W>
auto PhiloxBlock(W low, W high, W key) {
  const auto [x0, x1] = SplitWord(low);
  const auto [x2, x3] = SplitWord(high);
  const auto keys = SplitWord(key);
  return PhiloxBlock(std::array{x0, x1, x2, x3}, keys.low, keys.high);
}
template <class W>
auto ThreeFryBlock(W counter, W key) {
  const auto keys = SplitWord(key);
  const auto [x0, x1] = SplitWord(counter);
  return ThreeFryBlock(std::array{x0, x1}, keys.low, keys.high);
}

// ---- what `rng` draws ----

// A double in [0, 1) with so many bits of the u64 word: 23 for types up to f32, which stay below 1
// when they are rounded, 52 for f64.
template <class W>
Rebind<W, double> UnitInterval(W word, int bits) {
  const auto number = Cast<double>(Lshr(word, 64 - bits));
  return Mul(number, Const(number, std::ldexp(1.0, -bits)));
}

// In [low, high), from a number in [0, 1).
template <class V>
V UniformFloat(V unit, V low, V high) {
  return Add(Mul(unit, Sub(high, low)), low);
}

// low + word mod (high - low), all u64; an empty range gives low.
template <class W>
W UniformInteger(W word, W low, W high) {
  const W range = Sub(high, low);
  return Add(low, Rem(word, Select(Equal(range, IntConst(range, 0)), IntConst(range, 1), range)));
}

// A normal deviate from two numbers in [0, 1), by the method of Box and Muller.
template <class V>
V NormalFloat(V unit0, V unit1, V mean, V deviation) {
  const V radius = Sqrt(Mul(Const(unit0, -2), Log(Max(unit0, Const(unit0, 1e-7)))));
  const V sine = Sin(Mul(Const(unit1, 2 * std::numbers::pi), unit1));
  return Add(mean, Mul(Mul(deviation, radius), sine));
}

}  // namespace hlo::math
