// lib/types/element_access.cc
#include "lib/types/element_access.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hlo {
namespace {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

template <class T>
concept Narrow = requires(T value) {
  value.bits;
};  // SmallFloat
template <class T>
concept SubByte = requires(T value) {
  T::kWidth;
};  // SubByteInt

// The double nearest to a 64-bit magnitude in the sense of "round to odd": inexact results have an
// odd last bit.
double RoundToOdd(uint64_t magnitude) {
  const int extra = 64 - std::countl_zero(magnitude) - 53;
  if (extra <= 0) return static_cast<double>(magnitude);
  const uint64_t lost = magnitude & ((uint64_t{1} << extra) - 1);
  const uint64_t kept = (magnitude >> extra) | (lost != 0 ? 1 : 0);
  return std::ldexp(static_cast<double>(kept), extra);
}

double RoundToOdd(int64_t value, bool is_unsigned) {
  const auto pattern = static_cast<uint64_t>(value);
  if (is_unsigned || value >= 0) return RoundToOdd(pattern);
  return -RoundToOdd(uint64_t{0} - pattern);
}

// Truncates toward zero into [low, high]; NaN gives 0.
template <class I>
I TruncateTo(double value, I low, I high) {
  if (std::isnan(value)) return 0;
  // Both bounds are compared as doubles: `high` may round up to the power of two above it, hence
  // >=.
  if (value <= static_cast<double>(low)) return low;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<I>(value);
}

template <class T>
double ToDouble(T value) {
  if constexpr (Narrow<T>) {
    return value.ToDouble();
  } else if constexpr (SubByte<T>) {
    return value.value;
  } else if constexpr (kIsComplex<T>) {
    return value.real();
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    return RoundToOdd(static_cast<int64_t>(value), std::is_unsigned_v<T>);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (Narrow<T>) {
    return T::FromDouble(value);
  } else if constexpr (SubByte<T>) {
    constexpr int kHigh = (1 << (T::kWidth - (T::kSignedness ? 1 : 0))) - 1;
    constexpr int kLow = T::kSignedness ? -kHigh - 1 : 0;
    return T::Wrap(TruncateTo<int>(value, kLow, kHigh));
  } else if constexpr (std::is_integral_v<T>) {
    return TruncateTo<T>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  } else if constexpr (kIsComplex<T>) {
    return T(static_cast<typename T::value_type>(value), 0);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
int64_t ToInt(T value) {
  if constexpr (SubByte<T>) {
    return value.value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    return FromDouble<int64_t>(ToDouble(value));
  }
}

template <class T>
T FromInt(int64_t value, bool is_unsigned) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (SubByte<T>) {
    return T::Wrap(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return is_unsigned ? static_cast<T>(static_cast<uint64_t>(value)) : static_cast<T>(value);
  } else if constexpr (kIsComplex<T>) {
    return T(FromInt<typename T::value_type>(value, is_unsigned), 0);
  } else {
    return T::FromDouble(RoundToOdd(value, is_unsigned));
  }
}

template <class T>
std::complex<double> ToComplex(T value) {
  if constexpr (kIsComplex<T>) {
    return {value.real(), value.imag()};
  } else {
    return {ToDouble(value), 0};
  }
}

template <class T>
T FromComplex(std::complex<double> value) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.real() != 0 || value.imag() != 0;
  } else {
    return FromDouble<T>(value.real());
  }
}

}  // namespace

void ReadDoubles(ElementType type, const uint8_t* from, int64_t count, double* to) {
  WithNativeType(type, [&]<class T>() {
    const T* values = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = ToDouble(values[i]);
  });
}

void ReadInts(ElementType type, const uint8_t* from, int64_t count, int64_t* to) {
  WithNativeType(type, [&]<class T>() {
    const T* values = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = ToInt(values[i]);
  });
}

void ReadComplexes(ElementType type, const uint8_t* from, int64_t count, std::complex<double>* to) {
  WithNativeType(type, [&]<class T>() {
    const T* values = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = ToComplex(values[i]);
  });
}

void WriteDoubles(ElementType type, const double* from, int64_t count, uint8_t* to) {
  WithNativeType(type, [&]<class T>() {
    T* values = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) values[i] = FromDouble<T>(from[i]);
  });
}

void WriteInts(ElementType type, const int64_t* from, int64_t count, bool is_unsigned,
               uint8_t* to) {
  WithNativeType(type, [&]<class T>() {
    T* values = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) values[i] = FromInt<T>(from[i], is_unsigned);
  });
}

void WriteComplexes(ElementType type, const std::complex<double>* from, int64_t count,
                    uint8_t* to) {
  WithNativeType(type, [&]<class T>() {
    T* values = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) values[i] = FromComplex<T>(from[i]);
  });
}

}  // namespace hlo
