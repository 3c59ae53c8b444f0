#include "passes/util/holds_every.h"

#include <cmath>

namespace hlo {
namespace {

// What values a float type has; exponents are those of fractions in [0.5, 1), and one more.
struct FloatRange {
  int digits;
  int min_exponent;
  int max_exponent;
  bool has_infinity, has_nan, has_negative_zero;
};

FloatRange RangeOf(ElementType type) {
  if (type == ElementType::kF32) return {24, -125, 128, true, true, true};
  if (type == ElementType::kF64) return {53, -1021, 1024, true, true, true};
  FloatRange range = {};
  WithNativeType(type, [&]<class T>() {
    if constexpr (kIsSmallFloat<T>) {
      range = {T::kMantissaBits + 1,
               std::ilogb(T::MinNormal().ToDouble()) + 1,
               std::ilogb(T::Max().ToDouble()) + 1,
               T::kHasInf,
               T::kHasNan,
               T::kHasNegZero};
    }
  });
  return range;
}

bool FloatFits(ElementType from, ElementType to) {
  const FloatRange a = RangeOf(from);
  const FloatRange b = RangeOf(to);
  return a.digits <= b.digits && a.max_exponent <= b.max_exponent &&
         a.min_exponent - a.digits >= b.min_exponent - b.digits &&
         BitWidth(from) - a.digits <= BitWidth(to) - b.digits &&
         (b.has_infinity || !a.has_infinity) && (b.has_nan || !a.has_nan) &&
         (b.has_negative_zero || !a.has_negative_zero);
}

}  // namespace

int ExactDigits(ElementType type) {
  if (IsInteger(type)) return BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return IsFloat(type) ? RangeOf(type).digits : 0;
}

bool HoldsEvery(ElementType to, ElementType from) {
  if (from == to) return true;
  if (to == ElementType::kF8E8M0FNU) return false;  // has no zero
  if (from == ElementType::kPred) return true;
  if (to == ElementType::kPred) return false;
  if (IsComplex(to)) return HoldsEvery(ComponentType(to), ComponentType(from));
  if (IsComplex(from)) return false;
  if (IsFloat(from)) return IsFloat(to) && FloatFits(from, to);
  const int bits = BitWidth(from) - (IsSigned(from) ? 1 : 0);
  if (IsFloat(to)) {
    const FloatRange range = RangeOf(to);
    return bits <= range.digits && BitWidth(from) <= range.max_exponent;
  }
  if (IsSigned(from) && IsUnsigned(to)) return false;
  return bits <= BitWidth(to) - (IsSigned(to) ? 1 : 0);
}

}  // namespace hlo
