// lib/types/float_types.h
//
// The floats narrower than f32 as plain values: bf16, f16, the 8-bit, 6-bit and 4-bit formats.
//
// A value is its bit pattern (`bits`; the low bits of a byte for the 4- and 6-bit formats). There
// is no arithmetic here: narrow arithmetic is f32 arithmetic rounded once, so all that is needed is
//
//   ToFloat, ToDouble        exact, NaNs included (payload bits stay at the top of the mantissa)
//   FromFloat, FromDouble    one rounding, to nearest, ties to even, with the overflow rule of the
//   format's flavor
//
// They use integer instructions only, so the denormal mode of the processor does not change what
// they give, and all of them are constexpr. A f64 -> f16 convert of HLO is *not* `FromDouble`: it
// rounds through f32 (lib/math/convert.h).
//
// Equality is identity of bits: a NaN equals itself and -0 differs from +0.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace hlo {

// What a format does with the codes that IEEE 754 gives to infinities and NaNs, and where overflow
// ends.
enum class FloatFlavor : uint8_t {
  kIeee,          // infinities and NaNs as in IEEE 754; overflow gives an infinity
  kFn,            // no infinity, one NaN per sign (all ones); overflow gives NaN
  kFnuz,          // no infinity, no -0, one NaN where -0 would be; overflow gives NaN
  kFinite,        // neither infinity nor NaN; overflow saturates, NaN becomes -0
  kExponentOnly,  // a positive power of two, or NaN (all ones); no zero, no sign; ties round up
};

// The two floats that the processor computes with, taken apart.
template <class T>
struct WideFloat;
template <>
struct WideFloat<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
};
template <>
struct WideFloat<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
};

// A float of `kExponent` exponent and `kMantissa` mantissa bits; 1.0 has the exponent code
// `kExponentBias`.
template <int kExponent, int kMantissa, int kExponentBias, FloatFlavor kFloatFlavor>
struct SmallFloat {
  static constexpr FloatFlavor kFlavor = kFloatFlavor;
  static constexpr int kExponentBits = kExponent;
  static constexpr int kMantissaBits = kMantissa;
  static constexpr int kBias = kExponentBias;
  static constexpr bool kHasSign = kFlavor != FloatFlavor::kExponentOnly;
  static constexpr bool kHasZero = kFlavor != FloatFlavor::kExponentOnly;
  static constexpr bool kHasNegZero = kHasSign && kFlavor != FloatFlavor::kFnuz;
  static constexpr bool kHasInf = kFlavor == FloatFlavor::kIeee;
  static constexpr bool kHasNan = kFlavor != FloatFlavor::kFinite;
  static constexpr int kBits = kExponent + kMantissa + (kHasSign ? 1 : 0);

  using Storage = std::conditional_t<(kBits > 8), uint16_t, uint8_t>;
  Storage bits = 0;

  // The value whose bit pattern is `pattern`; bits above `kBits` are dropped.
  static constexpr SmallFloat FromBits(uint32_t pattern) { return {Storage(pattern & kAllBits)}; }
  // `value` rounded once.
  static constexpr SmallFloat FromFloat(float value);
  static constexpr SmallFloat FromDouble(double value) { return {Encode(value)}; }

  constexpr float ToFloat() const;
  constexpr double ToDouble() const { return Decode<double>(); }

  static constexpr SmallFloat Max() { return {Storage(kMaxCode)}; }
  static constexpr SmallFloat Lowest() { return {Storage(kHasSign ? kSignBit | kMaxCode : 0)}; }
  static constexpr SmallFloat SmallestPositive() { return {Storage(kHasZero ? 1 : 0)}; }
  static constexpr SmallFloat MinNormal() { return {Storage(kHasZero ? 1u << kMantissa : 0)}; }
  // The distance from 1 to the next larger value.
  static constexpr double Epsilon() { return 1.0 / (1u << kMantissa); }
  // What an infinity and a NaN become: the format's own where it has them.
  static constexpr SmallFloat Infinity() { return {OverflowCode(false)}; }
  static constexpr SmallFloat QuietNan() { return {NanCode(false, 0)}; }

  constexpr bool IsNan() const;
  constexpr bool IsInf() const { return kHasInf && (bits & kMagnitude) == kInfCode; }
  constexpr bool IsFinite() const { return !IsNan() && !IsInf(); }
  constexpr bool IsZero() const { return kHasZero && (bits & kMagnitude) == 0 && !IsNan(); }
  constexpr bool SignBit() const { return kHasSign && (bits & kSignBit) != 0; }

  friend constexpr bool operator==(SmallFloat, SmallFloat) = default;

 private:
  static constexpr uint32_t kAllBits = (1u << kBits) - 1;
  static constexpr uint32_t kMagnitude = (1u << (kExponent + kMantissa)) - 1;
  static constexpr uint32_t kSignBit = kHasSign ? kMagnitude + 1 : 0;
  static constexpr uint32_t kQuietBit = (1u << kMantissa) >> 1;
  static constexpr uint32_t kInfCode = ((1u << kExponent) - 1) << kMantissa;
  static constexpr uint32_t kMaxCode =
      kFlavor == FloatFlavor::kIeee                                          ? kInfCode - 1
      : kFlavor == FloatFlavor::kFn || kFlavor == FloatFlavor::kExponentOnly ? kMagnitude - 1
                                                                             : kMagnitude;

  // `payload` holds the leading mantissa bits of the NaN that is converted, without the quiet bit.
  static constexpr Storage NanCode(bool negative, uint32_t payload);
  static constexpr Storage OverflowCode(bool negative);
  template <class T>
  static constexpr Storage Encode(T value);
  template <class T>
  static constexpr Storage EncodePowerOfTwo(T value);
  template <class T>
  constexpr T Decode() const;
};

using BF16 = SmallFloat<8, 7, 127, FloatFlavor::kIeee>;
using F16 = SmallFloat<5, 10, 15, FloatFlavor::kIeee>;
using F8E5M2 = SmallFloat<5, 2, 15, FloatFlavor::kIeee>;
using F8E4M3 = SmallFloat<4, 3, 7, FloatFlavor::kIeee>;
using F8E3M4 = SmallFloat<3, 4, 3, FloatFlavor::kIeee>;
using F8E4M3FN = SmallFloat<4, 3, 7, FloatFlavor::kFn>;
using F8E4M3B11FNUZ = SmallFloat<4, 3, 11, FloatFlavor::kFnuz>;
using F8E4M3FNUZ = SmallFloat<4, 3, 8, FloatFlavor::kFnuz>;
using F8E5M2FNUZ = SmallFloat<5, 2, 16, FloatFlavor::kFnuz>;
using F8E8M0FNU = SmallFloat<8, 0, 127, FloatFlavor::kExponentOnly>;
using F4E2M1FN = SmallFloat<2, 1, 1, FloatFlavor::kFinite>;
using F6E3M2FN = SmallFloat<3, 2, 3, FloatFlavor::kFinite>;
using F6E2M3FN = SmallFloat<2, 3, 1, FloatFlavor::kFinite>;

template <class T>
inline constexpr bool kIsSmallFloat = false;
template <int kExponent, int kMantissa, int kBias, FloatFlavor kFlavor>
inline constexpr bool kIsSmallFloat<SmallFloat<kExponent, kMantissa, kBias, kFlavor>> = true;

// The word for the type in HLO text.
template <class T>
constexpr std::string_view SmallFloatName() {
  if constexpr (std::is_same_v<T, BF16>) return "bf16";
  if constexpr (std::is_same_v<T, F16>) return "f16";
  if constexpr (std::is_same_v<T, F8E5M2>) return "f8e5m2";
  if constexpr (std::is_same_v<T, F8E4M3>) return "f8e4m3";
  if constexpr (std::is_same_v<T, F8E3M4>) return "f8e3m4";
  if constexpr (std::is_same_v<T, F8E4M3FN>) return "f8e4m3fn";
  if constexpr (std::is_same_v<T, F8E4M3B11FNUZ>) return "f8e4m3b11fnuz";
  if constexpr (std::is_same_v<T, F8E4M3FNUZ>) return "f8e4m3fnuz";
  if constexpr (std::is_same_v<T, F8E5M2FNUZ>) return "f8e5m2fnuz";
  if constexpr (std::is_same_v<T, F8E8M0FNU>) return "f8e8m0fnu";
  if constexpr (std::is_same_v<T, F4E2M1FN>) return "f4e2m1fn";
  if constexpr (std::is_same_v<T, F6E3M2FN>) return "f6e3m2fn";
  if constexpr (std::is_same_v<T, F6E2M3FN>) return "f6e2m3fn";
}

// ---- definitions ----

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
constexpr auto SmallFloat<kExponent, kMantissa, kBiasT, kF>::FromFloat(float value) -> SmallFloat {
  if constexpr (std::is_same_v<SmallFloat, BF16>) {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    if ((wide & 0x7fffffffu) > 0x7f800000u) return {Storage((wide >> 16) | 0x40u)};
    return {Storage((wide + 0x7fffu + ((wide >> 16) & 1u)) >>
                    16)};  // a carry out of the mantissa is the right code
  } else {
    return {Encode(value)};
  }
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
constexpr float SmallFloat<kExponent, kMantissa, kBiasT, kF>::ToFloat() const {
  if constexpr (std::is_same_v<SmallFloat, BF16>) {
    return std::bit_cast<float>(uint32_t{bits} << 16);
  } else {
    return Decode<float>();
  }
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
constexpr bool SmallFloat<kExponent, kMantissa, kBiasT, kF>::IsNan() const {
  switch (kFlavor) {
    case FloatFlavor::kIeee: return (bits & kMagnitude) > kInfCode;
    case FloatFlavor::kFn:
    case FloatFlavor::kExponentOnly: return (bits & kMagnitude) == kMagnitude;
    case FloatFlavor::kFnuz: return bits == kSignBit;
    case FloatFlavor::kFinite: return false;
  }
  return false;
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
constexpr auto SmallFloat<kExponent, kMantissa, kBiasT, kF>::NanCode(bool negative,
                                                                     uint32_t payload) -> Storage {
  const uint32_t sign = negative ? kSignBit : 0;
  switch (kFlavor) {
    case FloatFlavor::kIeee: return Storage(sign | kInfCode | kQuietBit | payload);
    case FloatFlavor::kFn:
    case FloatFlavor::kExponentOnly: return Storage(sign | kMagnitude);
    case FloatFlavor::kFnuz:
    case FloatFlavor::kFinite:  // the nearest thing to "no value" is -0, whatever the sign
      return Storage(kSignBit);
  }
  return 0;
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
constexpr auto SmallFloat<kExponent, kMantissa, kBiasT, kF>::OverflowCode(bool negative)
    -> Storage {
  const uint32_t sign = negative ? kSignBit : 0;
  switch (kFlavor) {
    case FloatFlavor::kIeee: return Storage(sign | kInfCode);
    case FloatFlavor::kFinite: return Storage(sign | kMaxCode);
    case FloatFlavor::kFn:
    case FloatFlavor::kFnuz:
    case FloatFlavor::kExponentOnly: return NanCode(negative, 0);
  }
  return 0;
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
template <class T>
constexpr auto SmallFloat<kExponent, kMantissa, kBiasT, kF>::Encode(T value) -> Storage {
  if constexpr (kFlavor == FloatFlavor::kExponentOnly) {
    return EncodePowerOfTwo(value);
  } else {
    using Wide = WideFloat<T>;
    using U = typename Wide::Bits;
    constexpr int kDropped = Wide::kMantissaBits - kMantissa;
    constexpr U kOne = 1;
    constexpr U kWideInf = U(2 * Wide::kBias + 1) << Wide::kMantissaBits;
    const U pattern = std::bit_cast<U>(value);
    const U magnitude = pattern & ~(kOne << (8 * sizeof(T) - 1));
    const bool negative = magnitude != pattern;
    if (magnitude > kWideInf) {
      const uint32_t payload =
          uint32_t(magnitude >> kDropped) & ((1u << kMantissa) - 1) & ~kQuietBit;
      return NanCode(negative, payload);
    }
    if (magnitude == kWideInf) return OverflowCode(negative);

    // significand * 2^(exponent - Wide::kMantissaBits), with the leading one at bit
    // Wide::kMantissaBits unless it is 0.
    int exponent = int(magnitude >> Wide::kMantissaBits) - Wide::kBias;
    U significand = magnitude & ((kOne << Wide::kMantissaBits) - 1);
    if (exponent != -Wide::kBias) {
      significand |= kOne << Wide::kMantissaBits;
    } else if (significand != 0) {
      const int shift =
          std::countl_zero(significand) - (int(8 * sizeof(T)) - 1 - Wide::kMantissaBits);
      significand <<= shift;
      exponent = 1 - Wide::kBias - shift;
    }
    // One more dropped bit for each step below the smallest normal; at Wide::kMantissaBits + 2
    // nothing is left.
    constexpr int kMinExponent = 1 - kBias;
    const int below = exponent < kMinExponent ? kMinExponent - exponent : 0;
    const int drop =
        kDropped + below > Wide::kMantissaBits + 2 ? Wide::kMantissaBits + 2 : kDropped + below;
    const U kept_odd = (significand >> drop) & 1;
    const U rounded = (significand + (kOne << (drop - 1)) - 1 + kept_odd) >> drop;
    // The leading one of a normal adds one to the exponent code, hence the - 1.
    const U code = rounded + (below != 0 ? U(0) : U(exponent - kMinExponent) << kMantissa);
    if (code > kMaxCode) return OverflowCode(negative);
    if (code == 0 && !kHasNegZero) return 0;
    return Storage(uint32_t(code) | (negative ? kSignBit : 0));
  }
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
template <class T>
constexpr auto SmallFloat<kExponent, kMantissa, kBiasT, kF>::EncodePowerOfTwo(T value) -> Storage {
  using Wide = WideFloat<T>;
  using U = typename Wide::Bits;
  constexpr int kWiden = Wide::kBias - kBias;
  constexpr U kHalf = U(1) << (Wide::kMantissaBits - 1);
  const U pattern = std::bit_cast<U>(value);
  if (pattern == 0 || (pattern >> (8 * sizeof(T) - 1)) != 0) return NanCode(false, 0);
  // Everything up to the smallest value is that value, everything above it up to its double is the
  // double: the rule is written for f32, where the smallest value is a denormal.
  const U smallest = kWiden == 0 ? kHalf : U(kWiden) << Wide::kMantissaBits;
  if (pattern <= smallest) return 0;
  if (pattern <= U(kWiden + 1) << Wide::kMantissaBits) return 1;
  const U code = ((pattern + kHalf) >> Wide::kMantissaBits) - kWiden;
  return code > kMaxCode ? NanCode(false, 0) : Storage(code);
}

template <int kExponent, int kMantissa, int kBiasT, FloatFlavor kF>
template <class T>
constexpr T SmallFloat<kExponent, kMantissa, kBiasT, kF>::Decode() const {
  using Wide = WideFloat<T>;
  using U = typename Wide::Bits;
  constexpr int kAdded = Wide::kMantissaBits - kMantissa;
  constexpr U kWideInf = U(2 * Wide::kBias + 1) << Wide::kMantissaBits;
  const U sign = SignBit() ? U(1) << (8 * sizeof(T) - 1) : U(0);
  const U magnitude = bits & kMagnitude;
  if (IsNan()) {
    const U payload = kFlavor == FloatFlavor::kIeee
                          ? (magnitude << kAdded) & (kWideInf ^ (kWideInf | (kWideInf - 1)))
                          : U(0);
    const U quiet = kFlavor == FloatFlavor::kIeee ? U(0) : U(1) << (Wide::kMantissaBits - 1);
    return std::bit_cast<T>(sign | kWideInf | payload | quiet);
  }
  if (IsInf()) return std::bit_cast<T>(sign | kWideInf);
  constexpr int kWiden = Wide::kBias - kBias;
  if constexpr (kFlavor == FloatFlavor::kExponentOnly) {
    if (kWiden == 0 && magnitude == 0) return std::bit_cast<T>(U(1) << (Wide::kMantissaBits - 1));
    return std::bit_cast<T>((magnitude + kWiden) << Wide::kMantissaBits);
  } else {
    if (magnitude >> kMantissa != 0)
      return std::bit_cast<T>(sign | ((magnitude << kAdded) + (U(kWiden) << Wide::kMantissaBits)));
    if (magnitude == 0 || kWiden == 0)
      return std::bit_cast<T>(sign | (magnitude << kAdded));  // a denormal of T, too
    // A denormal here is normal in T: shift its leading one to the hidden place.
    const int shift = std::countl_zero(magnitude) - (int(8 * sizeof(T)) - 1 - kMantissa);
    const U fraction = ((magnitude << shift) & ((U(1) << kMantissa) - 1)) << kAdded;
    return std::bit_cast<T>(sign | (U(kWiden + 1 - shift) << Wide::kMantissaBits) | fraction);
  }
}

}  // namespace hlo
