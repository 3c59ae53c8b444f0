// backends/cpu/library/sort_keys.h
//
// Keys of any type as unsigned integers in the same order. Internal to this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/library/sort.h"
#include "lib/types/element_type.h"

namespace hlo::cpu {

// The bits of a value of S, and the unsigned integer that holds them.
template <class S>
constexpr auto KeyBits(const S& x) {
  if constexpr (std::is_same_v<S, float>) {
    return std::bit_cast<uint32_t>(x);
  } else if constexpr (std::is_same_v<S, double>) {
    return std::bit_cast<uint64_t>(x);
  } else if constexpr (std::is_same_v<S, bool>) {
    return static_cast<uint8_t>(x);
  } else if constexpr (std::is_integral_v<S>) {
    return static_cast<std::make_unsigned_t<S>>(x);
  } else if constexpr (requires { x.value; }) {
    return static_cast<uint8_t>(x.value);
  } else {
    return x.bits;
  }
}

template <class S>
constexpr bool IsSignedKey() {
  if constexpr (std::is_integral_v<S>) {
    return std::is_signed_v<S>;
  } else if constexpr (requires { S::kSignedness; }) {
    return S::kSignedness;
  } else {
    return false;
  }
}

template <class S>
constexpr bool IsFloatKey() {
  return std::is_floating_point_v<S> || requires { S::kFlavor; };
}

template <class S>
constexpr bool IsNan(const S& x) {
  if constexpr (std::is_floating_point_v<S>) {
    return x != x;
  } else {
    const float wide = x.ToFloat();
    return wide != wide;
  }
}

// Negative floats count backwards: all bits flip; the others get the sign bit.
template <class S>
constexpr auto EncodeKey(S x, FloatOrder order) {
  using Bits = decltype(KeyBits(x));
  constexpr int kWidth = sizeof(Bits) * 8;
  Bits bits = KeyBits(x);
  if constexpr (IsFloatKey<S>()) {
    int sign_at = kWidth - 1;
    if constexpr (!std::is_floating_point_v<S>) sign_at = S::kHasSign ? S::kBits - 1 : kWidth;
    if (order == FloatOrder::kCanonical && IsNan(x)) return static_cast<Bits>(~Bits{0});
    if (sign_at == kWidth) return bits;  // no sign: the order of the bits
    const auto sign = static_cast<Bits>(Bits{1} << sign_at);
    if (order == FloatOrder::kCanonical && bits == sign) bits = 0;
    const auto all = static_cast<Bits>(sign | static_cast<Bits>(sign - 1));
    if constexpr (requires { S::kHasNegZero; }) {
      // The bits of -0 that a type does not have are its NaN, which comes before all others.
      if (S::kHasSign && !S::kHasNegZero && (bits & sign) != 0)
        return bits == sign ? Bits{0} : static_cast<Bits>((~bits & all) + 1);
    }
    return static_cast<Bits>((bits & sign) != 0 ? static_cast<Bits>(~bits & all)
                                                : static_cast<Bits>(bits | sign));
  } else if constexpr (IsSignedKey<S>()) {
    return static_cast<Bits>(bits ^ static_cast<Bits>(Bits{1} << (kWidth - 1)));
  } else {
    return bits;
  }
}

}  // namespace hlo::cpu
