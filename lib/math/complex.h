// lib/math/complex.h
//
// HLO's complex functions on pairs of f32 or f64 values.
//
// The functions of a c64 compute in f64, which takes care of overflow and cancellation in between.
// Branch cuts are those of C: the sign of a zero part picks the side (sqrt is the exception, see
// there). Where a part is infinite or NaN, the results are mostly those of C's Annex G.
//
// In formulas, z = a + b i.
#pragma once

#include "lib/math/complex_arithmetic.h"
#include "lib/math/hyperbolic.h"
#include "lib/math/roots_powers.h"
#include "lib/math/trig.h"

namespace hlo::math {

// Runs f on the operands in f64 and rounds the parts back, if the parts are f32; else just runs f.
template <class F, class V>
Complex<V> InDouble(F f, Complex<V> z) {
  if constexpr (kIsF32<V>) {
    const auto w = f(Complex<Rebind<V, double>>{Cast<double>(z.re), Cast<double>(z.im)});
    return {Cast<float>(w.re), Cast<float>(w.im)};
  } else {
    return f(z);
  }
}
template <class F, class V>
Complex<V> InDouble(F f, Complex<V> z, Complex<V> u) {
  if constexpr (kIsF32<V>) {
    using D = Rebind<V, double>;
    const auto w = f(Complex<D>{Cast<double>(z.re), Cast<double>(z.im)},
                     Complex<D>{Cast<double>(u.re), Cast<double>(u.im)});
    return {Cast<float>(w.re), Cast<float>(w.im)};
  } else {
    return f(z, u);
  }
}

// ---- exponentials and logarithms ----

// x y, but 0 if one of them is, whatever the other. A NaN does not count for the sign of that 0.
template <class V>
V MulZeroWins(V x, V y) {
  const V zero = Const(x, 0);
  const MaskOf<V> vanishes = Or(Equal(x, zero), Equal(y, zero));
  const V signed_zero = XorSign(Select(IsNan(x), zero, x), Select(IsNan(y), zero, y));
  return Select(vanishes, CopySign(zero, signed_zero), Mul(x, y));
}

// (e^a cos b, e^a sin b), `times` being the product to use.
template <class V, class Times>
Complex<V> ExpWith(Complex<V> w, Times times) {
  // Where e^a overflows, the product with a small cosine may not.
  const V half = Exp(Mul(w.re, Const(w.re, 0.5))), whole = Exp(w.re);
  const MaskOf<V> large = Equal(whole, Const(w.re, kInf));
  const auto scaled = [&](V f) {
    return Select(large, Mul(times(half, f), half), times(whole, f));
  };
  return {scaled(Cos(w.im)), Select(Equal(w.im, Const(w.im, 0)), w.im, scaled(Sin(w.im)))};
}

// e^z; NaN where e^a is 0 and b is infinite.
template <class V>
Complex<V> Exp(Complex<V> z) {
  return InDouble([](auto w) { return ExpWith(w, [](auto x, auto y) { return Mul(x, y); }); }, z);
}

// e^z, but 0 wherever e^a is: what other functions are made of.
template <class V>
Complex<V> VanishingExp(Complex<V> z) {
  return ExpWith(z, [](V x, V y) { return MulZeroWins(x, y); });
}

// e^z - 1, accurate near 0.
template <class V>
Complex<V> Expm1(Complex<V> z) {
  const auto expm1 = [](auto w) -> decltype(w) {
    const auto t = Expm1(w.re);
    const auto half_sine = Sin(Mul(w.im, Const(w.im, 0.5)));
    const auto cosine_minus_one = Mul(Mul(half_sine, half_sine), Const(w.im, -2));
    const auto im = Mul(Exp(w.re), Sin(w.im));
    return {Add(Mul(t, Cos(w.im)), cosine_minus_one),
            Select(Equal(w.im, Const(w.im, 0)), w.im, im)};
  };
  return InDouble(expm1, z);
}

// log |z|, also where |z| is near 1.
template <class V>
V LogAbs(Complex<V> z) {
  const V a = Abs(z.re), b = Abs(z.im), one = Const(a, 1);
  const MaskOf<V> steep = Less(a, b);
  const V large = Select(steep, b, a), small = Select(steep, a, b);
  // log large + log1p((small / large)^2) / 2; near 1, log1p((large - 1) (large + 1) + small^2) / 2.
  const V ratio = Div(small, Select(Equal(large, Const(a, 0)), one, large));
  const MaskOf<V> near_one = And(Less(Const(a, 0.5), large), Less(large, Const(a, 2)));
  const Pair<V> product = TwoProduct(Sub(large, one), Add(large, one));
  const Pair<V> square = TwoProduct(small, small);
  const Pair<V> sum = TwoSum(product.hi, square.hi);
  const V excess = Add(sum.hi, Add(sum.lo, Add(product.lo, square.lo)));
  const V rest = Mul(Log1p(Select(near_one, excess, Mul(ratio, ratio))), Const(a, 0.5));
  const V value = Select(near_one, rest, Add(Log(large), rest));
  return Select(And(HasInf(z), Not(HasNan(z))), Const(a, kInf), value);
}

// (log |z|, angle of z)
template <class V>
Complex<V> Log(Complex<V> z) {
  return InDouble([](auto w) -> decltype(w) { return {LogAbs(w), Atan2(w.im, w.re)}; }, z);
}

// log(1 + z), accurate near 0.
template <class V>
Complex<V> Log1p(Complex<V> z) {
  const auto log1p = [](auto w) -> decltype(w) {
    const auto one = Const(w.re, 1);
    const auto s = Add(w.re, one), b = Abs(w.im), size = Abs(s);
    const auto steep = Less(size, b);
    const auto large = Select(steep, b, size), small = Select(steep, size, b);
    const auto ratio = Div(small, large);
    const auto head = Log1p(Select(Less(b, s), w.re, Sub(large, one)));
    const auto re = Fma(Log1p(Mul(ratio, ratio)), Const(w.re, 0.5), head);
    const auto infinite = And(HasInf(w), Not(HasNan(w)));
    const auto at_minus_one = Equal(large, Const(w.re, 0));
    const auto value =
        Select(infinite, Const(w.re, kInf), Select(at_minus_one, Const(w.re, -kInf), re));
    return {value, Atan2(w.im, s)};
  };
  return InDouble(log1p, z);
}

// 1 / (1 + e^-z)
template <class V>
Complex<V> Logistic(Complex<V> z) {
  const auto logistic = [](auto w) -> decltype(w) {
    const auto power = VanishingExp(Neg(w));
    const decltype(w) one = {Const(w.re, 1), Const(w.re, 0)};
    const decltype(w) value = Div(one, Add(one, power)), nothing = {Const(w.re, 0), Const(w.re, 0)};
    // There e^-z is infinite in no direction in particular.
    return Select(And(Equal(w.re, Const(w.re, -kInf)), IsInf(w.im)), nothing, value);
  };
  return InDouble(logistic, z);
}

// ---- roots and powers ----

// The root with a real part >= 0; on the negative real axis the sign of b picks the side.
template <class V>
Complex<V> PrincipalSqrt(Complex<V> w) {
  const V zero = Const(w.re, 0), one = Const(w.re, 1), inf = Const(w.re, kInf);
  const auto a = Abs(w.re), b = Abs(w.im);
  const auto size = Select(Less(a, b), b, a);
  // Scaled by a power of four, so that the sum below neither overflows nor vanishes.
  const auto huge = Less(Const(a, 0x1p1000), size), tiny = Less(size, Const(a, 0x1p-900));
  const auto scale = Select(huge, Const(a, 0x1p-100), Select(tiny, Const(a, 0x1p120), one));
  const auto unscale = Select(huge, Const(a, 0x1p50), Select(tiny, Const(a, 0x1p-60), one));
  const Complex<V> scaled = {Mul(w.re, scale), Mul(w.im, scale)};
  const auto t = Sqrt(Mul(Add(Abs(scaled.re), Abs(scaled)), Const(a, 0.5)));
  const auto other = Div(Abs(scaled.im), Add(t, t));
  const auto right = GreaterEq(w.re, zero);
  const auto none = And(Equal(a, zero), Equal(b, zero));
  const auto re = Select(none, zero, Mul(Select(right, t, other), unscale));
  const auto im = Select(none, zero, Mul(Select(right, other, t), unscale));
  const auto b_infinite = Equal(b, inf);
  const auto a_large = Equal(w.re, inf), a_low = Equal(w.re, Neg(inf));
  const auto b_finite = Less(b, inf);
  const auto re_fixed = Select(Or(b_infinite, And(a_large, b_finite)), inf,
                               Select(And(a_low, b_finite), zero, Select(IsNan(b), b, re)));
  const auto im_fixed =
      Select(Or(b_infinite, a_low), inf, Select(And(a_large, b_finite), zero, im));
  return {re_fixed, CopySign(im_fixed, w.im)};
}

// PrincipalSqrt, except that on the negative real axis the imaginary part is positive for either
// sign of b.
template <class V>
Complex<V> Sqrt(Complex<V> z) {
  return InDouble(
      [](auto w) -> decltype(w) {
        const auto zero = Const(w.re, 0);
        return PrincipalSqrt(decltype(w){w.re, Select(Equal(w.im, zero), zero, w.im)});
      },
      z);
}

// 1 / sqrt(z); (inf, NaN) at 0.
template <class V>
Complex<V> Rsqrt(Complex<V> z) {
  const auto rsqrt = [](auto w) -> decltype(w) {
    const auto zero = Const(w.re, 0);
    // conj(sqrt z) / |sqrt z|^2
    const auto root = PrincipalSqrt(w);
    const auto size = Abs(root);
    const decltype(w) value = {Div(Div(root.re, size), size), Neg(Div(Div(root.im, size), size))};
    const auto infinite = HasInf(w);
    const auto none = And(Equal(w.re, zero), Equal(w.im, zero));
    const auto re_sign = Select(IsFinite(w.re), zero, w.re);
    const decltype(w) vanished = {CopySign(zero, re_sign), Neg(CopySign(zero, w.im))};
    const decltype(w) pole = {Const(w.re, kInf), Const(w.re, kNan)};
    return Select(none, pole, Select(infinite, vanished, value));
  };
  return InDouble(rsqrt, z);
}

// z^w = e^(w log z) on the principal branch.
template <class V>
Complex<V> Pow(Complex<V> z, Complex<V> w) {
  const auto pow = [](auto x, auto y) -> decltype(x) {
    using C = decltype(x);
    const auto zero = Const(x.re, 0), one = Const(x.re, 1), inf = Const(x.re, kInf);
    const auto log_size = LogAbs(x), angle = Atan2(x.im, x.re);
    const C exponent = {Sub(Mul(y.re, log_size), Mul(y.im, angle)),
                        Add(Mul(y.re, angle), Mul(y.im, log_size))};
    const C power = VanishingExp(exponent);
    // Infinite, but in no direction in particular.
    const auto unbounded = And(Equal(exponent.re, inf), IsNan(power.re));
    const C value = {Select(unbounded, inf, power.re), power.im};
    const C unit = {one, zero}, nothing = {zero, zero};
    const auto real_base = Equal(x.im, zero), real_exponent = Equal(y.im, zero);
    const auto infinite_base = And(And(real_base, Equal(x.re, inf)), real_exponent);
    const C of_infinity = Select(Less(zero, y.re), C{inf, zero}, nothing);
    const auto zero_base =
        And(And(real_base, Equal(x.re, zero)), And(real_exponent, LessEq(zero, y.re)));
    const auto no_exponent = And(real_exponent, Equal(y.re, zero));
    const auto unit_base = And(real_base, Equal(x.re, one));
    const C at_ends = Select(zero_base, nothing, Select(infinite_base, of_infinity, value));
    return Select(Or(no_exponent, unit_base), unit, at_ends);
  };
  return InDouble(pow, z, w);
}

// ---- trigonometric and hyperbolic functions ----

// (sin a cosh b, cos a sinh b)
template <class V>
Complex<V> Sin(Complex<V> z) {
  return InDouble(
      [](auto w) -> decltype(w) {
        const auto im = MulZeroWins(Cos(w.re), Sinh(w.im));
        const auto lost = And(IsInf(w.re), IsInf(w.im));
        return {MulZeroWins(Sin(w.re), Cosh(w.im)), Select(lost, Const(im, kInf), im)};
      },
      z);
}
// (cos a cosh b, -sin a sinh b)
template <class V>
Complex<V> Cos(Complex<V> z) {
  return InDouble(
      [](auto w) -> decltype(w) {
        const auto re = MulZeroWins(Cos(w.re), Cosh(w.im));
        const auto lost = And(IsInf(w.re), IsInf(w.im));
        return {Select(lost, Const(re, kInf), re), Neg(MulZeroWins(Sin(w.re), Sinh(w.im)))};
      },
      z);
}

// (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b)
template <class V>
Complex<V> Tanh(Complex<V> z) {
  const auto tanh = [](auto w) -> decltype(w) {
    const auto zero = Const(w.re, 0), one = Const(w.re, 1);
    const auto a = Abs(w.re);
    const auto inside = ClampAbove(a, Const(a, 30));
    const auto sh = Sinh(inside), ch = Cosh(inside), s = Sin(w.im), c = Cos(w.im);
    const auto denominator = Fma(sh, sh, Mul(c, c));
    const auto near_re = Div(Mul(sh, ch), denominator), near_im = Div(Mul(s, c), denominator);
    // Far out the real part is 1 and the imaginary part 4 sin b cos b e^-2a.
    const auto far = Less(Const(a, 25), a);
    const auto far_im = Mul(Mul(Mul(s, c), Const(a, 4)), Exp(Mul(a, Const(a, -2))));
    const auto re = CopySign(Select(far, one, near_re), w.re);
    const auto im = Select(far, far_im, near_im);
    const auto no_angle = Or(IsInf(w.im), IsNan(w.im));
    const auto flat = Or(Equal(w.im, zero), And(Equal(a, Const(a, kInf)), no_angle));
    const auto undefined = And(And(IsFinite(a), no_angle), NotEqual(a, zero));
    const auto re_fixed = Select(Equal(a, zero), w.re, Select(undefined, Const(a, kNan), re));
    return {re_fixed, Select(flat, CopySign(zero, w.im), im)};
  };
  return InDouble(tanh, z);
}
// tan z = -i tanh(i z)
template <class V>
Complex<V> Tan(Complex<V> z) {
  const Complex<V> t = Tanh(Complex<V>{Neg(z.im), z.re});
  return {t.im, Neg(t.re)};
}
// (sinh a cos b, cosh a sin b)
template <class V>
Complex<V> Sinh(Complex<V> z) {
  const Complex<V> s = Sin(Complex<V>{Neg(z.im), z.re});
  return {s.im, Neg(s.re)};
}
// (cosh a cos b, sinh a sin b)
template <class V>
Complex<V> Cosh(Complex<V> z) {
  return Cos(Complex<V>{Neg(z.im), z.re});
}

// ---- their inverses: Kahan's formulas ----

// sqrt(1 - z) and sqrt(1 + z).
template <class V>
struct RootsAroundOne {
  Complex<V> minus;
  Complex<V> plus;
};
template <class V>
RootsAroundOne<V> SqrtOneMinusPlus(Complex<V> z) {
  const V one = Const(z.re, 1);
  return {PrincipalSqrt(Complex<V>{Sub(one, z.re), Neg(z.im)}),
          PrincipalSqrt(Complex<V>{Add(one, z.re), z.im})};
}
// The imaginary part of conj(p) q.
template <class V>
V ImOfConjugateProduct(Complex<V> p, Complex<V> q) {
  return Sub(Mul(p.re, q.im), Mul(p.im, q.re));
}

template <class V>
Complex<V> Asin(Complex<V> z) {
  const auto asin = [](auto w) -> decltype(w) {
    const auto roots = SqrtOneMinusPlus(w);
    const auto re_product =
        Sub(Mul(roots.minus.re, roots.plus.re), Mul(roots.minus.im, roots.plus.im));
    const auto re = Select(HasInf(w), Atan2(w.re, Abs(w.im)), Atan2(w.re, re_product));
    return {re, Asinh(ImOfConjugateProduct(roots.minus, roots.plus))};
  };
  return InDouble(asin, z);
}
template <class V>
Complex<V> Acos(Complex<V> z) {
  const auto acos = [](auto w) -> decltype(w) {
    const auto roots = SqrtOneMinusPlus(w);
    const auto half = Atan2(roots.minus.re, roots.plus.re);
    const auto re = Select(HasInf(w), Atan2(Abs(w.im), w.re), Add(half, half));
    return {re, Asinh(ImOfConjugateProduct(roots.plus, roots.minus))};
  };
  return InDouble(acos, z);
}
// asinh z = -i asin(i z)
template <class V>
Complex<V> Asinh(Complex<V> z) {
  const Complex<V> s = Asin(Complex<V>{Neg(z.im), z.re});
  return {s.im, Neg(s.re)};
}
template <class V>
Complex<V> Acosh(Complex<V> z) {
  const auto acosh = [](auto w) -> decltype(w) {
    const auto one = Const(w.re, 1);
    using C = decltype(w);
    const C minus = PrincipalSqrt(C{Sub(w.re, one), w.im}),
            plus = PrincipalSqrt(C{Add(w.re, one), w.im});
    const auto half = Atan2(minus.im, plus.re);
    const auto im = Select(HasInf(w), Atan2(w.im, w.re), Add(half, half));
    return {Asinh(Add(Mul(minus.re, plus.re), Mul(minus.im, plus.im))), im};
  };
  return InDouble(acosh, z);
}
// (log(((1 + a)^2 + b^2) / ((1 - a)^2 + b^2)) / 4, atan2(2 b, (1 - a) (1 + a) - b^2) / 2)
template <class V>
Complex<V> Atanh(Complex<V> z) {
  const auto atanh = [](auto w) -> decltype(w) {
    const auto one = Const(w.re, 1), a = Abs(w.re);
    const auto square = Mul(w.im, w.im), gap = Sub(one, a);
    const auto re = Mul(Log1p(Div(Mul(a, Const(a, 4)), Fma(gap, gap, square))), Const(a, 0.25));
    const auto im = Mul(Atan2(Add(w.im, w.im), Fma(gap, Add(one, a), Neg(square))), Const(a, 0.5));
    const auto right_angle = CopySign(Const(a, 2 * kQuarterPiHi), w.im);
    return {CopySign(Select(HasInf(w), Const(a, 0), re), w.re), Select(HasInf(w), right_angle, im)};
  };
  return InDouble(atanh, z);
}

// -i log((x + i y) / sqrt(x^2 + y^2))
template <class V>
Complex<V> Atan2(Complex<V> y, Complex<V> x) {
  const auto atan2 = [](auto v, auto u) -> decltype(u) {
    using C = decltype(u);
    const C rotated = Add(u, C{Neg(v.im), v.re});
    const C log = Log(Div(rotated, PrincipalSqrt(Add(Mul(u, u), Mul(v, v)))));
    return {log.im, Neg(log.re)};
  };
  return InDouble(atan2, y, x);
}

}  // namespace hlo::math
