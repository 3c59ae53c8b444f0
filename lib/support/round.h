// Integer division and rounding: towards plus infinity for counts and sizes (a >= 0, b > 0),
// towards minus infinity for indices of any sign (b > 0).
#pragma once

#include <cstdint>

namespace hlo {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

constexpr int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The smallest multiple of `unit` that is not below `value`.
constexpr int64_t RoundUp(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }

}  // namespace hlo
