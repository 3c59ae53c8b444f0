// lib/math/native.h
//
// The primitives of lib/math on the processor's own scalars: float, double, the integers of 8 to 64
// bits, and bool as the mask. What each primitive means, for every implementation, is written in
// README.md of this folder.
//
// Compile with -ffp-contract=off and without fast-math: a multiply followed by an add must stay two
// roundings.
//
// Every overload takes exactly the types it is for (deduced, so nothing converts silently): code
// that works here by luck of an implicit conversion would not compile with a vector type.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

namespace hlo::math {

template <class T>
concept NativeFloat = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept NativeInt = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept NativeMask = std::same_as<T, bool>;
template <class T>
concept NativeNumber = NativeFloat<T> || NativeInt<T>;

// What a value type is made of. A vector type specialises it; the scalars are their own elements.
template <class V>
struct ValueTraits;
template <class T>
requires NativeNumber<T> || NativeMask<T>
struct ValueTraits<T> {
  using Scalar = T;
  template <class U>
  using Rebind = U;
};

// The type of one element: float, double, an integer type, bool.
template <class V>
using ScalarOf = typename ValueTraits<V>::Scalar;
// The value type with as many elements as V, each a T.
template <class V, class T>
using Rebind = typename ValueTraits<V>::template Rebind<T>;
// Signed integers as wide as the elements of V.
template <class V>
using IntOf =
    Rebind<V,
           std::conditional_t<
               sizeof(ScalarOf<V>) == 8, int64_t,
               std::conditional_t<sizeof(ScalarOf<V>) == 4, int32_t,
                                  std::conditional_t<sizeof(ScalarOf<V>) == 2, int16_t, int8_t>>>>;
template <class V>
using MaskOf = Rebind<V, bool>;

// ---- constants ----

template <NativeFloat T>
constexpr T Const(T, double value) {
  return static_cast<T>(value);
}
template <NativeFloat T>
constexpr IntOf<T> IntConst(T, int64_t value) {
  return static_cast<IntOf<T>>(value);
}
template <NativeInt T>
constexpr T IntConst(T, int64_t value) {
  return static_cast<T>(value);
}

// ---- float arithmetic ----

template <NativeFloat T>
constexpr T Add(T a, T b) {
  return a + b;
}
template <NativeFloat T>
constexpr T Sub(T a, T b) {
  return a - b;
}
template <NativeFloat T>
constexpr T Mul(T a, T b) {
  return a * b;
}
template <NativeFloat T>
constexpr T Div(T a, T b) {
  return a / b;
}
template <NativeFloat T>
inline T Fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <NativeFloat T>
inline T Sqrt(T x) {
  return std::sqrt(x);
}
template <NativeFloat T>
inline T Floor(T x) {
  return std::floor(x);
}
template <NativeFloat T>
inline T Ceil(T x) {
  return std::ceil(x);
}
template <NativeFloat T>
inline T Trunc(T x) {
  return std::trunc(x);
}
template <NativeFloat T>
inline T RoundEven(T x) {
  return std::nearbyint(x);
}
template <NativeFloat T>
inline T Rem(T a, T b) {
  return std::fmod(a, b);
}

// ---- bits of floats ----

template <NativeFloat T>
constexpr IntOf<T> Bits(T x) {
  return std::bit_cast<IntOf<T>>(x);
}
constexpr float FromBits(std::same_as<int32_t> auto bits) { return std::bit_cast<float>(bits); }
constexpr double FromBits(std::same_as<int64_t> auto bits) { return std::bit_cast<double>(bits); }

template <NativeFloat T>
inline constexpr IntOf<T> kSignBit = std::numeric_limits<IntOf<T>>::min();

template <NativeFloat T>
constexpr T Neg(T x) {
  return FromBits(IntOf<T>(Bits(x) ^ kSignBit<T>));
}
template <NativeFloat T>
constexpr T Abs(T x) {
  return FromBits(IntOf<T>(Bits(x) & ~kSignBit<T>));
}
template <NativeFloat T>
constexpr T CopySign(T magnitude, T sign) {
  return FromBits(IntOf<T>((Bits(magnitude) & ~kSignBit<T>) | (Bits(sign) & kSignBit<T>)));
}

// ---- integer arithmetic ----

// Unsigned and at least as wide as unsigned int, where overflow wraps and nothing is promoted to a
// signed type.
template <NativeInt T>
using Wrapping = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <NativeInt T>
constexpr T Add(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
}
template <NativeInt T>
constexpr T Sub(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
}
template <NativeInt T>
constexpr T Mul(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
}
template <NativeInt T>
constexpr T Neg(T x) {
  return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x));
}
template <NativeInt T>
constexpr T Div(T a, T b) {
  return static_cast<T>(a / b);
}
template <NativeInt T>
constexpr T Rem(T a, T b) {
  return static_cast<T>(a % b);
}
template <NativeInt T>
constexpr T MulHigh(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((Wide(a) * Wide(b)) >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<T>((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
  }
}
template <NativeInt T>
constexpr T And(T a, T b) {
  return static_cast<T>(a & b);
}
template <NativeInt T>
constexpr T Or(T a, T b) {
  return static_cast<T>(a | b);
}
template <NativeInt T>
constexpr T Xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <NativeInt T>
constexpr T Not(T x) {
  return static_cast<T>(~x);
}
template <NativeInt T>
constexpr T Clz(T x) {
  return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
}
template <NativeInt T>
constexpr T Popcount(T x) {
  return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
}

// The count is an immediate or a value; it must be at least 0 and less than the width.
template <NativeInt T, class Count>
requires std::same_as<Count, int> || std::same_as<Count, T>
constexpr T Shl(T x, Count count) { return static_cast<T>(Wrapping<T>(x) << count); }
template <NativeInt T, class Count>
requires std::same_as<Count, int> || std::same_as<Count, T>
constexpr T Lshr(T x, Count count) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> count);
}
template <NativeInt T, class Count>
requires std::same_as<Count, int> || std::same_as<Count, T>
constexpr T Ashr(T x, Count count) {
  return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> count);
}

// ---- comparisons ----

template <NativeNumber T>
constexpr bool Equal(T a, T b) {
  return a == b;
}
template <NativeNumber T>
constexpr bool NotEqual(T a, T b) {
  return a != b;
}
template <NativeNumber T>
constexpr bool Less(T a, T b) {
  return a < b;
}
template <NativeNumber T>
constexpr bool LessEq(T a, T b) {
  return a <= b;
}

// ---- masks and selection ----

constexpr bool And(std::same_as<bool> auto a, std::same_as<bool> auto b) { return a && b; }
constexpr bool Or(std::same_as<bool> auto a, std::same_as<bool> auto b) { return a || b; }
constexpr bool Xor(std::same_as<bool> auto a, std::same_as<bool> auto b) { return a != b; }
constexpr bool Not(std::same_as<bool> auto a) { return !a; }

template <class T>
requires NativeNumber<T> || NativeMask<T>
constexpr T Select(bool mask, T if_true, T if_false) { return mask ? if_true : if_false; }

// Select(mask, rare(x), common), for a `rare` that costs much and a mask that is mostly false.
template <class T, class Rare>
requires NativeNumber<T>
inline T SelectRare(bool mask, Rare rare, T x, T common) { return mask ? rare(x) : common; }

// ---- conversions and tables ----

// Between numbers, or from a mask (0 or 1). Float to integer truncates; the result must be in
// range.
template <class To, class From>
requires NativeNumber<To> &&(NativeNumber<From> || NativeMask<From>)constexpr To Cast(From x) {
  return static_cast<To>(x);
}

// table[index] for each element; the index must be inside. The table must live as long as the
// program.
template <NativeFloat T>
constexpr T Lookup(T, std::span<const T> table, IntOf<T> index) {
  return table[index];
}

}  // namespace hlo::math
