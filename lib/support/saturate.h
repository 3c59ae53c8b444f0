// Arithmetic on sizes that come from a text: what does not fit 64 bits stays at the end of the
// range, where the checks of shapes refuse it, and nothing overflows on the way.
#pragma once

#include <cstdint>

namespace hlo {

constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
constexpr int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

}  // namespace hlo
