// lib/types/format_float.cc
//
// A float is mantissa * 2^-shift; its decimal digits are round(mantissa * 10^k / 2^shift) for the
// right k. Between about 1e-19 and 2^24 all of that is exact in 128 bits; std::to_chars does the
// rest.
#include "lib/types/format_float.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "lib/types/append.h"

namespace hlo {
namespace {

using Uint128 = unsigned __int128;

constexpr int kMaxPower = 27;  // 2^24 * 10^27 < 2^114

struct PowersOfTen {
  Uint128 of[kMaxPower + 1];
  constexpr PowersOfTen() : of() {
    of[0] = 1;
    for (int i = 1; i <= kMaxPower; ++i) of[i] = of[i - 1] * 10;
  }
};
constexpr PowersOfTen kTen;

// A positive f32 in parts: mantissa * 2^-shift with 2^23 <= mantissa < 2^24 and 0 < shift <= 103.
struct Parts {
  uint32_t mantissa = 0;
  int shift = 0;
};

// False for what is not normal or out of range.
bool TakeApart(float value, Parts& parts) {
  const auto bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  parts.mantissa = (bits & 0x7fffff) | 0x800000;
  parts.shift = 127 + 23 - static_cast<int>(bits >> 23);
  return parts.shift > 0 && parts.shift <= 103 && bits >> 23 != 0;
}

// Decimal digits d and exponent: the value is about d * 10^(exponent - count + 1), with d of
// exactly `count` digits.
struct Decimal {
  uint32_t digits = 0;
  int count = 0;
  int exponent = 0;
  int power = 0;  // digits = round(value * 10^power)
};

// floor(log10(value)), at most one too small.
int EstimateExponent(const Parts& parts) {
  const int binary = 23 - parts.shift;  // 2^binary <= value
  return static_cast<int>(std::floor(binary * 0.30102999566398120));
}

bool Round(const Parts& parts, int count, Decimal& decimal) {
  for (int exponent = EstimateExponent(parts);; ++exponent) {
    const int power = count - 1 - exponent;
    if (power < 0 || power > kMaxPower) return false;
    const Uint128 product = parts.mantissa * kTen.of[power];
    const Uint128 half = Uint128{1} << (parts.shift - 1);
    const Uint128 rest = product & (2 * half - 1);
    Uint128 digits = product >> parts.shift;
    if (rest > half || (rest == half && (digits & 1) != 0)) ++digits;
    if (digits >= kTen.of[count]) continue;  // the estimate was small, or all nines were rounded up
    decimal = {static_cast<uint32_t>(digits), count, exponent, power};
    return true;
  }
}

// Whether the decimal is read as the f32 it came from: it lies within half a unit of the mantissa.
bool ReadsBack(const Parts& parts, const Decimal& decimal) {
  const Uint128 exact = parts.mantissa * kTen.of[decimal.power];
  const Uint128 written = Uint128{decimal.digits} << parts.shift;
  const Uint128 unit = kTen.of[decimal.power];
  if (written >= exact) {
    const Uint128 twice = 2 * (written - exact);
    return twice < unit || (twice == unit && parts.mantissa % 2 == 0);
  }
  // Below a power of two the neighbours are half as far away.
  const Uint128 scaled = (parts.mantissa == 0x800000 ? 4 : 2) * (exact - written);
  return scaled < unit || (scaled == unit && parts.mantissa % 2 == 0);
}

void AppendDecimal(Decimal decimal, std::string& out) {
  const int precision = decimal.count;
  while (decimal.count > 1 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    --decimal.count;
  }
  char buffer[16];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), decimal.digits);
  const std::string_view digits(buffer, end.ptr - buffer);
  const int exponent = decimal.exponent;
  if (exponent < -4 || exponent >= precision) {
    out += digits[0];
    if (digits.size() > 1) {
      out += '.';
      out += digits.substr(1);
    }
    const int magnitude = std::abs(exponent);
    out += exponent < 0 ? "e-" : "e+";
    if (magnitude < 10) out += '0';
    AppendInt(magnitude, out);
  } else if (exponent < 0) {
    out += "0.";
    out.append(-exponent - 1, '0');
    out += digits;
  } else {
    const size_t whole = exponent + 1;
    out += digits.substr(0, whole);
    if (digits.size() > whole) {
      out += '.';
      out += digits.substr(whole);
    } else {
      out.append(whole - digits.size(), '0');
    }
  }
}

std::string_view SlowGeneral(double value, int digits, char (&buffer)[40]) {
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
  return {buffer, static_cast<size_t>(end.ptr - buffer)};
}

// With `few` digits if they read back, else with `enough`.
template <class T>
void SlowRoundTrip(T value, int few, int enough, std::string& out) {
  char buffer[40];
  std::string_view text = SlowGeneral(value, few, buffer);
  T back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  if (back != value) text = SlowGeneral(value, enough, buffer);
  out += text;
}

}  // namespace

void AppendGeneral(double value, int digits, std::string& out) {
  const auto narrow = static_cast<float>(value);
  Parts parts;
  Decimal decimal;
  if (digits <= 9 && narrow == value && TakeApart(narrow, parts) && Round(parts, digits, decimal)) {
    if (value < 0) out += '-';
    return AppendDecimal(decimal, out);
  }
  char buffer[40];
  out += SlowGeneral(value, digits, buffer);
}

void AppendRoundTrip(float value, std::string& out) {
  if (std::abs(value) < 1e6f && value == std::trunc(value) &&
      (value != 0 || !std::signbit(value))) {
    return AppendInt(static_cast<int32_t>(value), out);
  }
  Parts parts;
  Decimal decimal;
  if (!TakeApart(value, parts) || !Round(parts, 6, decimal)) return SlowRoundTrip(value, 6, 9, out);
  if (!ReadsBack(parts, decimal) && !Round(parts, 9, decimal))
    return SlowRoundTrip(value, 6, 9, out);
  if (value < 0) out += '-';
  AppendDecimal(decimal, out);
}

void AppendRoundTrip(double value, std::string& out) {
  if (std::abs(value) < 1e15 && value == std::trunc(value) &&
      (value != 0 || !std::signbit(value))) {
    return AppendInt(static_cast<int64_t>(value), out);
  }
  SlowRoundTrip(value, 15, 17, out);
}

}  // namespace hlo
