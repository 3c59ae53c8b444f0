// lib/math/convert.h
//
// HLO's conversions between element types, for values.
//
// Integers and f32, f64 convert as values. A narrow float (lib/types/float_types.h) has no value
// type of its own: its code sits in an int32 value, DecodeFloat gives the f32 it stands for and
// EncodeFloat rounds a f32 to a code, both bit for bit as SmallFloat does. Where the source is
// wider than f32 it goes through a f32 "rounded to odd" (inexact results get an odd last bit),
// after which rounding to the narrow format is as if from the source.
#pragma once

#include "lib/math/integer.h"
#include "lib/types/float_types.h"

namespace hlo::math {

// ---- to integers ----

// x toward zero, the nearest representable value if out of range, 0 for NaN. `To` holds a type of
// `bits`.
template <class To, class V>
Rebind<V, To> FloatToInt(V x, int bits = 8 * sizeof(To)) {
  constexpr bool kSigned = std::is_signed_v<To>;
  const int value_bits = kSigned ? bits - 1 : bits;
  const To largest = static_cast<To>(value_bits == 0 ? 0 : ~uint64_t{0} >> (64 - value_bits));
  const To smallest = static_cast<To>(kSigned ? ~static_cast<uint64_t>(largest) : 0);
  // Both limits are outside (the lower one may round to the smallest value, which then saturates to
  // itself).
  const double above = std::ldexp(1.0, value_bits);
  const V zero = Const(x, 0);
  const MaskOf<V> inside =
      And(Less(Const(x, static_cast<double>(smallest) - 1), x), Less(x, Const(x, above)));
  const Rebind<V, To> value = Cast<To>(Select(inside, x, zero));
  const auto constant = [&](To c) { return IntConst(value, static_cast<int64_t>(c)); };
  const Rebind<V, To> saturated = Select(Less(x, zero), constant(smallest), constant(largest));
  return Select(inside, value, Select(IsNan(x), constant(0), saturated));
}

// The integer's low `bits`, extended as `To` is; widening extends by the signedness of the source.
template <class To, class V>
Rebind<V, To> IntToInt(V x, int bits = 8 * sizeof(To)) {
  return WrapInt(Cast<To>(x), bits);
}

// ---- rounding to odd ----

// A f32 near the integer: equal if it fits 24 bits, else truncated with the last bit set.
template <class V>
Rebind<V, float> IntToOddFloat(V x) {
  if constexpr (sizeof(ScalarOf<V>) < 4) {
    return Cast<float>(x);
  } else {
    // Keep the top 24 bits of the magnitude and let the last of them tell whether there was more.
    using U = ScalarOf<UnsignedOf<V>>;
    const UnsignedOf<V> pattern = Cast<U>(x);
    MaskOf<V> negative = Less(x, IntZero(x));
    const UnsignedOf<V> magnitude = Select(negative, Neg(pattern), pattern);
    const UnsignedOf<V> one = IntConst(magnitude, 1), zero = IntZero(magnitude);
    const UnsignedOf<V> width = Sub(IntConst(magnitude, kIntWidth<V>), Clz(magnitude));
    const UnsignedOf<V> spare = IntConst(magnitude, 24);
    const UnsignedOf<V> drop = Select(Less(spare, width), Sub(width, spare), zero);
    const UnsignedOf<V> kept = Shl(Lshr(magnitude, drop), drop);
    const UnsignedOf<V> sticky = Select(Equal(kept, magnitude), zero, Shl(one, drop));
    const Rebind<V, float> value = Cast<float>(Or(kept, sticky));
    return Select(negative, Neg(value), value);
  }
}

// A f32 near the double: equal if it fits, else the neighbour with an odd last bit. Overflow gives
// the largest float.
template <class V>
Rebind<V, float> DoubleToOddFloat(V x) {
  const Rebind<V, float> near = Cast<float>(x);
  const V back = Cast<double>(near);
  const IntOf<Rebind<V, float>> bits = Bits(near), one = IntConst(near, 1);
  const auto even = Equal(And(bits, one), IntConst(near, 0));
  const MaskOf<V> outward = Less(Abs(back), Abs(x));
  const MaskOf<V> inward = Less(Abs(x), Abs(back));
  const auto moved = Select(outward, Add(bits, one), Select(inward, Sub(bits, one), bits));
  const auto value = FromBits(Select(even, moved, bits));
  // A zero near x has lost the sign of the steps above.
  return CopySign(value, near);
}

// ---- narrow floats ----

// The f32 that a code of the format S stands for. `code` is an int32 value; bits above the format's
// must be 0.
template <class S, class I>
Rebind<I, float> DecodeFloat(I code) {
  static_assert(kIntWidth<I> == 32);
  const auto constant = [&](int64_t c) { return IntConst(code, c); };
  if constexpr (std::is_same_v<S, BF16>) {
    return FromBits(Shl(code, 16));
  } else if constexpr (S::kFlavor == FloatFlavor::kExponentOnly) {
    const I normal = Shl(code, 23);
    const I denormal_or_nan =
        Select(Equal(code, constant(0)), constant(0x400000), constant(0x7fc00000));
    const auto special = Or(Equal(code, constant(0)), Equal(code, constant(0xff)));
    return FromBits(Select(special, denormal_or_nan, normal));
  } else {
    constexpr int kSignPlace = S::kBits - 1;
    constexpr int64_t kMagnitude = (int64_t{1} << kSignPlace) - 1;
    constexpr int kShift = 23 - S::kMantissaBits;
    const I magnitude = And(code, constant(kMagnitude));
    const I sign = Shl(Sub(code, magnitude), 31 - kSignPlace);
    const I normal = Add(Shl(magnitude, kShift), constant(int64_t{127 - S::kBias} << 23));
    // A denormal is an integer times the smallest step.
    const auto step = Const(FromBits(code), S::SmallestPositive().ToDouble());
    const I denormal = Bits(Mul(Cast<float>(magnitude), step));
    I value = Select(Less(magnitude, constant(int64_t{1} << S::kMantissaBits)), denormal, normal);
    if constexpr (S::kFlavor == FloatFlavor::kIeee) {
      const int64_t inf = S::Infinity().bits;
      const I special = Or(constant(0x7f800000),
                           Shl(And(magnitude, constant((1 << S::kMantissaBits) - 1)), kShift));
      value = Select(LessEq(constant(inf), magnitude), special, value);
    } else if constexpr (S::kFlavor == FloatFlavor::kFn) {
      value = Select(Equal(magnitude, constant(kMagnitude)), constant(0x7fc00000), value);
    } else if constexpr (S::kFlavor == FloatFlavor::kFnuz) {
      value = Select(Equal(code, constant(int64_t{1} << kSignPlace)), constant(0x7fc00000), value);
    }
    return FromBits(Or(value, sign));
  }
}

// The code of x rounded to the format S, as an int32 value.
template <class S, class V>
IntOf<V> EncodeFloat(V x) {
  static_assert(kIsF32<V>);
  using I = IntOf<V>;
  const I bits = Bits(x);
  const auto constant = [&](int64_t c) { return IntConst(x, c); };
  const I magnitude = And(bits, constant(0x7fffffff));
  const I infinity = constant(0x7f800000);
  if constexpr (S::kFlavor == FloatFlavor::kExponentOnly) {
    const I code = Lshr(Add(bits, constant(0x400000)), 23);
    const auto bad = Or(LessEq(bits, constant(0)), LessEq(constant(0x7f400000), bits));
    return Select(bad, constant(0xff), Select(LessEq(bits, constant(0x400000)), constant(0), code));
  } else if constexpr (std::is_same_v<S, BF16>) {
    // The upper half of the bits: a carry out of the lower one may run up to the infinity.
    const I upper = Lshr(bits, 16);
    const I rounded = Lshr(Add(bits, Add(And(upper, constant(1)), constant(0x7fff))), 16);
    return Select(IsNan(x), Or(upper, constant(0x40)), rounded);
  } else {
    constexpr int kDrop = 23 - S::kMantissaBits;
    constexpr int kSignPlace = S::kBits - 1;
    constexpr int64_t kPayload = (int64_t{1} << S::kMantissaBits) - 1;
    const I sign = Lshr(Xor(bits, magnitude), 31 - kSignPlace);
    const I odd = And(Lshr(magnitude, kDrop), constant(1));
    const I rounded = Add(magnitude, Add(odd, constant((int64_t{1} << (kDrop - 1)) - 1)));
    I code = Lshr(rounded, kDrop);
    if constexpr (S::kBias != 127) {
      code = Sub(code, constant(int64_t{127 - S::kBias} << S::kMantissaBits));
      // Below the smallest normal: adding 2^23 steps rounds to a whole number of steps.
      const double normal = S::MinNormal().ToDouble();
      const V anchor = Const(x, S::SmallestPositive().ToDouble() * 0x1p23);
      const I denormal = Sub(Bits(Add(FromBits(magnitude), anchor)), Bits(anchor));
      code = Select(Less(FromBits(magnitude), Const(x, normal)), denormal, code);
    }
    const int64_t largest = S::Max().bits;
    const I too_large = constant(S::Infinity().bits & ((1 << kSignPlace) - 1));
    I value = Or(Select(Less(constant(largest), code), too_large, code), sign);
    const auto is_nan = Less(infinity, magnitude);
    if constexpr (S::kFlavor == FloatFlavor::kIeee) {
      const I nan = Or(Or(sign, constant(S::QuietNan().bits)),
                       And(Lshr(magnitude, kDrop), constant(kPayload)));
      return Select(is_nan, nan, value);
    } else if constexpr (S::kFlavor == FloatFlavor::kFn) {
      return Select(is_nan, Or(sign, constant(S::QuietNan().bits)), value);
    } else if constexpr (S::kFlavor == FloatFlavor::kFnuz) {
      const auto no_number = Or(is_nan, Less(constant(largest), code));
      return Select(no_number, constant(S::QuietNan().bits),
                    Select(Equal(code, constant(0)), code, value));
    } else {
      return Select(is_nan, constant(S::QuietNan().bits), value);
    }
  }
}

// The code of an integer rounded once to the format S.
template <class S, class V>
Rebind<V, int32_t> IntToSmallFloat(V x) {
  return EncodeFloat<S>(IntToOddFloat(x));
}

// The code of a f64 converted to the format S: bf16 and f16 round twice, through f32, all others
// once.
template <class S, class V>
Rebind<V, int32_t> DoubleToSmallFloat(V x) {
  if constexpr (S::kBits == 16) {
    return EncodeFloat<S>(Cast<float>(x));
  } else {
    return EncodeFloat<S>(DoubleToOddFloat(x));
  }
}

// ---- to pred ----

// x != 0, so true for NaN.
template <class V>
MaskOf<V> FloatToPred(V x) {
  return NotEqual(x, Const(x, 0));
}
template <class V>
MaskOf<V> IntToPred(V x) {
  return NotEqual(x, IntZero(x));
}

// ---- stochastic rounding ----

// x rounded to a neighbouring integer of type `To` (signed): away from zero where `random`, as a
// fraction of its range, is below the fraction of x. Saturates; NaN gives 0. `random` is unsigned
// and as wide as x.
template <class To, class V, class R>
Rebind<V, To> StochasticConvert(V x, R random, int bits = 8 * sizeof(To)) {
  const V magnitude = Abs(x);
  const V whole = Trunc(magnitude);
  // Exact: the fraction times 2^w is below 2^w. An infinity has none.
  const V fraction = Select(Less(magnitude, Const(x, kInf)), Sub(magnitude, whole), Const(x, 0));
  const V scaled = Mul(fraction, Const(x, std::ldexp(1.0, kIntWidth<R>)));
  const R threshold = Cast<ScalarOf<R>>(Select(IsNan(scaled), Const(x, 0), scaled));
  // The whole part saturates first, so at the limit the step up must not wrap.
  const Rebind<V, To> base = FloatToInt<To>(CopySign(whole, x), bits);
  const Rebind<V, To> one = IntConst(base, 1), zero = IntConst(base, 0);
  const auto up = Less(random, threshold);
  const Rebind<V, To> lowest = SmallestSigned(base, bits);
  const Rebind<V, To> highest = Not(lowest);
  const auto negative = Less(x, Const(x, 0));
  const Rebind<V, To> raised = Select(Equal(base, highest), base, Add(base, one));
  const Rebind<V, To> lowered = Select(Equal(base, lowest), base, Sub(base, one));
  const Rebind<V, To> stepped = Select(negative, lowered, raised);
  return Select(up, stepped, Select(IsNan(x), zero, base));
}

}  // namespace hlo::math
