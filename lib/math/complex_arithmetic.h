// lib/math/complex_arithmetic.h
//
// Complex numbers as pairs of values, and the operations computed in the type itself: by the
// textbook formulas, so a product of infinities may be NaN; a quotient takes care of overflow and
// of infinities.
#pragma once

#include "lib/math/primitives.h"

namespace hlo::math {

template <class V>
struct Complex {
  V re;
  V im;
};

template <class V>
Complex<V> Select(MaskOf<V> mask, Complex<V> a, Complex<V> b) {
  return {Select(mask, a.re, b.re), Select(mask, a.im, b.im)};
}

// A part is infinite.
template <class V>
MaskOf<V> HasInf(Complex<V> z) {
  return Or(IsInf(z.re), IsInf(z.im));
}

// A part is NaN.
template <class V>
MaskOf<V> HasNan(Complex<V> z) {
  return Or(IsNan(z.re), IsNan(z.im));
}

// ---- arithmetic ----

template <class V>
Complex<V> Add(Complex<V> z, Complex<V> w) {
  return {Add(z.re, w.re), Add(z.im, w.im)};
}
template <class V>
Complex<V> Sub(Complex<V> z, Complex<V> w) {
  return {Sub(z.re, w.re), Sub(z.im, w.im)};
}
template <class V>
Complex<V> Neg(Complex<V> z) {
  return {Neg(z.re), Neg(z.im)};
}
template <class V>
Complex<V> Mul(Complex<V> z, Complex<V> w) {
  return {Sub(Mul(z.re, w.re), Mul(z.im, w.im)), Add(Mul(z.re, w.im), Mul(z.im, w.re))};
}
template <class V>
MaskOf<V> Equal(Complex<V> z, Complex<V> w) {
  return And(Equal(z.re, w.re), Equal(z.im, w.im));
}
template <class V>
MaskOf<V> NotEqual(Complex<V> z, Complex<V> w) {
  return Or(NotEqual(z.re, w.re), NotEqual(z.im, w.im));
}

// Lexicographic: the real parts decide, then the imaginary ones. A number with a NaN wins.
template <class V>
MaskOf<V> Before(Complex<V> z, Complex<V> w) {
  return Or(Less(z.re, w.re), And(Equal(z.re, w.re), Less(z.im, w.im)));
}
template <class V>
Complex<V> Max(Complex<V> z, Complex<V> w) {
  return Select(And(Not(HasNan(z)), Or(HasNan(w), Before(z, w))), w, z);
}
template <class V>
Complex<V> Min(Complex<V> z, Complex<V> w) {
  return Select(And(Not(HasNan(z)), Or(HasNan(w), Before(w, z))), w, z);
}

// z / w by Smith's method: no overflow in between. Infinities and zeros as C's Annex G wants them.
template <class V>
Complex<V> Div(Complex<V> z, Complex<V> w) {
  const V zero = Const(z.re, 0), one = Const(z.re, 1), inf = Const(z.re, kInf);
  const MaskOf<V> steep = Less(Abs(w.re), Abs(w.im));
  const V large = Select(steep, w.im, w.re), small = Select(steep, w.re, w.im);
  const V ratio = Div(small, large);
  const V denominator = Add(large, Mul(small, ratio));
  // Steep: (a r + b, b r - a) / d. Otherwise: (a + b r, b - a r) / d.
  const V re_major = Select(steep, z.im, z.re), re_minor = Select(steep, z.re, z.im);
  const V re = Div(Add(Mul(re_minor, ratio), re_major), denominator);
  const V im_steep = Sub(Mul(z.im, ratio), z.re), im_flat = Sub(z.im, Mul(z.re, ratio));
  const V im = Div(Select(steep, im_steep, im_flat), denominator);

  const MaskOf<V> w_zero = And(Equal(w.re, zero), Equal(w.im, zero));
  const MaskOf<V> z_infinite = HasInf(z);
  const MaskOf<V> w_infinite = HasInf(w);
  const MaskOf<V> z_finite = And(IsFinite(z.re), IsFinite(z.im));
  const MaskOf<V> w_finite = And(IsFinite(w.re), IsFinite(w.im));
  const MaskOf<V> some_number = Not(And(IsNan(z.re), IsNan(z.im)));
  // The parts of an infinite number become +-1 or +-0.
  const auto unit = [&](V part) { return CopySign(Select(IsInf(part), one, zero), part); };
  const auto times_conjugate = [&](Complex<V> p, Complex<V> q) {
    return Complex<V>{Add(Mul(p.re, q.re), Mul(p.im, q.im)), Sub(Mul(p.im, q.re), Mul(p.re, q.im))};
  };
  const V signed_inf = CopySign(inf, w.re);
  const Complex<V> by_zero = {Mul(signed_inf, z.re), Mul(signed_inf, z.im)};
  const Complex<V> grown = times_conjugate({unit(z.re), unit(z.im)}, w);
  const Complex<V> shrunk = times_conjugate(z, {unit(w.re), unit(w.im)});
  const Complex<V> quotient = {re, im};
  Complex<V> fixed = quotient;
  fixed = Select(And(z_finite, w_infinite), Complex<V>{Mul(zero, shrunk.re), Mul(zero, shrunk.im)},
                 fixed);
  fixed =
      Select(And(z_infinite, w_finite), Complex<V>{Mul(inf, grown.re), Mul(inf, grown.im)}, fixed);
  fixed = Select(And(w_zero, some_number), by_zero, fixed);
  return Select(And(IsNan(re), IsNan(im)), fixed, quotient);
}

// |z| without overflow in between; infinite if a part is, even beside a NaN.
template <class V>
V Abs(Complex<V> z) {
  const V a = Abs(z.re), b = Abs(z.im);
  const MaskOf<V> steep = Less(a, b);
  const V large = Select(steep, b, a), small = Select(steep, a, b);
  const V ratio = Div(small, Select(Equal(large, Const(a, 0)), Const(a, 1), large));
  const V size = Mul(large, Sqrt(Fma(ratio, ratio, Const(a, 1))));
  return Select(Or(IsInf(a), IsInf(b)), Const(a, kInf), size);
}

// z / |z|, 0 for 0.
template <class V>
Complex<V> Sign(Complex<V> z) {
  const V size = Abs(z), zero = Const(size, 0);
  const MaskOf<V> nan = Or(IsNan(z.re), IsNan(z.im));
  const Complex<V> unit = {Div(z.re, size), Div(z.im, size)};
  const Complex<V> value = Select(Equal(size, zero), Complex<V>{zero, zero}, unit);
  const V no_number = Const(size, kNan);
  return Select(nan, Complex<V>{no_number, no_number}, value);
}

}  // namespace hlo::math
