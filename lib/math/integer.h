// lib/math/integer.h
//
// The integer operations of HLO for values of 8 to 64 bits, signed or unsigned, and for the types
// narrower than a byte.
//
// `bits` is the width of the element type. A value of fewer bits than its C++ type lies there sign-
// or zero-extended (s4 in an int8_t), and every function gives its result so. No operand traps:
// divisors and shift amounts are guarded here, before the primitives that require it.
#pragma once

#include "lib/math/primitives.h"

namespace hlo::math {

template <class V>
inline constexpr int kIntWidth = 8 * sizeof(ScalarOf<V>);
template <class V>
inline constexpr bool kIsSignedInt = std::is_signed_v<ScalarOf<V>>;
template <class V>
using UnsignedOf = Rebind<V, std::make_unsigned_t<ScalarOf<V>>>;

// The low `bits` of x, extended to the whole value by the signedness of its type.
template <class V>
V WrapInt(V x, int bits) {
  const int unused = kIntWidth<V> - bits;
  if (unused == 0) return x;
  return kIsSignedInt<V> ? Ashr(Shl(x, unused), unused) : Lshr(Shl(x, unused), unused);
}

// The low `bits` of x, the rest 0.
template <class V>
V IntPattern(V x, int bits) {
  const int unused = kIntWidth<V> - bits;
  return unused == 0 ? x : Lshr(Shl(x, unused), unused);
}

template <class V>
V IntZero(V like) {
  return IntConst(like, 0);
}
// The smallest value of a signed type of `bits`.
template <class V>
V SmallestSigned(V like, int bits) {
  return IntConst(like, std::numeric_limits<int64_t>::min() >> (64 - bits));
}

// -1, 0 or 1 by the sign of a signed x.
template <class V>
V IntSign(V x) {
  const V zero = IntZero(x);
  return Select(Less(x, zero), IntConst(x, -1), Select(Equal(x, zero), zero, IntConst(x, 1)));
}
// |x|; the smallest value stays what it is.
template <class V>
V IntAbs(V x, int bits = kIntWidth<V>) {
  return WrapInt(Select(Less(x, IntZero(x)), Neg(x), x), bits);
}

template <class V>
V IntMin(V a, V b) {
  return Select(Less(b, a), b, a);
}
template <class V>
V IntMax(V a, V b) {
  return Select(Less(a, b), b, a);
}

// True where a / b would trap or overflow: b is 0, or -1 under the smallest dividend.
template <class V>
MaskOf<V> IsSpecialDivision(V a, V b, int bits) {
  const MaskOf<V> by_zero = Equal(b, IntZero(b));
  if constexpr (kIsSignedInt<V>) {
    return Or(by_zero, And(Equal(b, IntConst(b, -1)), Equal(a, SmallestSigned(a, bits))));
  } else {
    return by_zero;
  }
}

// a / b toward zero; x / 0 is all ones, smallest / -1 is the smallest.
template <class V>
V IntDivide(V a, V b, int bits = kIntWidth<V>) {
  const V safe = Select(IsSpecialDivision(a, b, bits), IntConst(b, 1), b);
  return Select(Equal(b, IntZero(b)),
                IntPattern(IntConst(b, -1), kIsSignedInt<V> ? kIntWidth<V> : bits), Div(a, safe));
}

// The remainder of IntDivide, with the sign of a; x % 0 is x, smallest % -1 is 0.
template <class V>
V IntRemainder(V a, V b, int bits = kIntWidth<V>) {
  const V safe = Select(IsSpecialDivision(a, b, bits), IntConst(b, 1), b);
  return Select(Equal(b, IntZero(b)), a, Rem(a, safe));
}

// The upper half of the product of 2 * bits.
template <class V>
V IntMulHigh(V a, V b, int bits = kIntWidth<V>) {
  if (bits == kIntWidth<V>) return MulHigh(a, b);
  const V product = Mul(a, b);  // fits: at most half of the type's width is used
  return kIsSignedInt<V> ? Ashr(product, bits) : Lshr(product, bits);
}

// x^y modulo 2^bits; 0^0 is 1. For y < 0: 1 if x is 1, else 0.
template <class V>
V IntPower(V x, V y, int bits = kIntWidth<V>) {
  const V zero = IntZero(x), one = IntConst(x, 1);
  V result = one;
  V base = x;
  for (int i = 0; i < bits; ++i) {
    const MaskOf<V> set = NotEqual(And(Lshr(y, i), one), zero);
    result = Select(set, Mul(result, base), result);
    if (i + 1 < bits) base = Mul(base, base);
  }
  result = WrapInt(result, bits);
  if constexpr (kIsSignedInt<V>) {
    result = Select(Less(y, zero), Select(Equal(x, one), one, zero), result);
  }
  return result;
}

// True where 0 <= amount < bits, reading the amount as unsigned.
template <class V>
MaskOf<V> IsShiftInRange(V amount, int bits) {
  using U = ScalarOf<UnsignedOf<V>>;
  const UnsignedOf<V> wide = Cast<U>(amount);
  return Less(wide, IntConst(wide, bits));
}

// x * 2^amount modulo 2^bits, 0 for an amount that is out of range.
template <class V>
V ShiftLeft(V x, V amount, int bits = kIntWidth<V>) {
  const MaskOf<V> in_range = IsShiftInRange(amount, bits);
  const V shifted = Shl(x, Select(in_range, amount, IntZero(x)));
  return Select(in_range, WrapInt(shifted, bits), IntZero(x));
}

// The pattern moved down, zeros from above; 0 for an amount that is out of range.
template <class V>
V ShiftRightLogical(V x, V amount, int bits = kIntWidth<V>) {
  const MaskOf<V> in_range = IsShiftInRange(amount, bits);
  const V shifted = Lshr(IntPattern(x, bits), Select(in_range, amount, IntZero(x)));
  return Select(in_range, WrapInt(shifted, bits), IntZero(x));
}

// The pattern moved down, copies of its top bit from above, also for unsigned types and any amount.
template <class V>
V ShiftRightArithmetic(V x, V amount, int bits = kIntWidth<V>) {
  const int unused = kIntWidth<V> - bits;
  const V extended = unused == 0 ? x : Ashr(Shl(x, unused), unused);
  const V most = IntConst(x, bits - 1);
  return WrapInt(Ashr(extended, Select(IsShiftInRange(amount, bits), amount, most)), bits);
}

// Zeros above the highest set bit of the pattern; `bits` for 0.
template <class V>
V CountLeadingZeros(V x, int bits = kIntWidth<V>) {
  return WrapInt(Sub(Clz(IntPattern(x, bits)), IntConst(x, kIntWidth<V> - bits)), bits);
}

// Set bits of the pattern.
template <class V>
V PopulationCount(V x, int bits = kIntWidth<V>) {
  return WrapInt(Popcount(IntPattern(x, bits)), bits);
}

}  // namespace hlo::math
