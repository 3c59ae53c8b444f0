// lib/math/rounding.h
//
// What is exact on floats: sign, rounding to integers, total order, reduced precision.
#pragma once

#include "lib/math/primitives.h"

namespace hlo::math {

// -1 or 1 with the sign of x; zeros stay zeros of their sign, NaN stays NaN.
template <class V>
V Sign(V x) {
  const V size = Select(Equal(x, Const(x, 0)), Const(x, 0), Const(x, 1));
  return Select(IsNan(x), x, CopySign(size, x));
}

// The nearest integer, ties away from zero. The sign of a zero is that of x.
template <class V>
V RoundNearestAfz(V x) {
  const V whole = Trunc(x);
  // Exact, also next to 1/2, where x + 1/2 would round.
  const V rest = Abs(Sub(x, whole));
  const V step = CopySign(Const(x, 1), x);
  // Where x is infinite the rest is NaN, hence no step.
  return CopySign(Select(LessEq(Const(x, 0.5), rest), Add(whole, step), whole), x);
}

// min(max(x, low), high): high if low > high, NaN if any is.
template <class V>
V Clamp(V low, V x, V high) {
  return Min(high, Max(x, low));
}

// An integer that orders floats totally by plain comparison: -NaN < -inf < ... < -0 < +0 < ... <
// inf < NaN.
template <class V>
IntOf<V> TotalOrderKey(V x) {
  const IntOf<V> bits = Bits(x);
  const IntOf<V> flip = Lshr(Ashr(bits, FormatOf<V>::kWidth - 1), 1);
  return Xor(bits, flip);
}

// The layout of an IEEE 754 format.
struct IeeeLayout {
  int exponent_bits;
  int mantissa_bits;
};

// The bits of x, a value of format `from`, rounded as if to a float of format `to`: mantissa to
// nearest even; too large gives infinity; what would be a denormal gives a zero of its sign; a NaN
// stays, but without mantissa bits it becomes +infinity.
template <class I>
I ReducePrecisionBits(I x, IeeeLayout from, IeeeLayout to) {
  if (to.exponent_bits >= from.exponent_bits && to.mantissa_bits >= from.mantissa_bits) return x;
  const int64_t inf = ((int64_t{1} << from.exponent_bits) - 1) << from.mantissa_bits;
  const int64_t largest = inf | ((int64_t{1} << from.mantissa_bits) - 1);
  const I infinity = IntConst(x, inf);
  const I magnitude = And(x, IntConst(x, largest));
  const I sign = Xor(x, magnitude);
  I reduced = magnitude;
  if (to.mantissa_bits < from.mantissa_bits) {
    const int drop = from.mantissa_bits - to.mantissa_bits;
    const I odd = And(Lshr(magnitude, drop), IntConst(x, 1));
    const I half = IntConst(x, (int64_t{1} << (drop - 1)) - 1);
    reduced = And(Add(magnitude, Add(half, odd)), IntConst(x, -(int64_t{1} << drop)));
  }
  if (to.exponent_bits < from.exponent_bits) {
    // Exponent codes of the source: the last one that is finite, and the first one that is normal,
    // in the target.
    const int64_t bias = (int64_t{1} << (from.exponent_bits - 1)) - 1;
    const int64_t range = (int64_t{1} << (to.exponent_bits - 1)) - 1;
    const I beyond = IntConst(x, (bias + range + 1) << from.mantissa_bits);
    const I first = IntConst(x, (bias - range + 1) << from.mantissa_bits);
    reduced = Select(LessEq(beyond, reduced), infinity, reduced);
    reduced = Select(Less(reduced, first), IntConst(x, 0), reduced);
  }
  const I nan = to.mantissa_bits > 0 ? x : infinity;
  return Select(Less(infinity, magnitude), nan, Or(sign, reduced));
}

// x rounded to `exponent_bits` and `mantissa_bits`, as a float of its own format.
template <class V>
V ReducePrecision(V x, int exponent_bits, int mantissa_bits) {
  constexpr IeeeLayout kOwn = {FormatOf<V>::kWidth - 1 - FormatOf<V>::kMantissaBits,
                               FormatOf<V>::kMantissaBits};
  return FromBits(ReducePrecisionBits(Bits(x), kOwn, {exponent_bits, mantissa_bits}));
}

}  // namespace hlo::math
