// backends/cpu/library/fft_kernels_impl.h
//
// The text of fft_kernels.h. Part of kernels_impl.h, whose rules hold here.
#pragma once

#include "backends/cpu/library/fft_kernels.h"

namespace hlo::cpu {
namespace {

// Shuffles.

template <int... kIndices>
struct Indices {};

template <int kLeft, int... kIndices>
struct CountUpTo : CountUpTo<kLeft - 1, kLeft - 1, kIndices...> {};
template <int... kIndices>
struct CountUpTo<0, kIndices...> {
  using Type = Indices<kIndices...>;
};

template <class T>
using EachLane = typename CountUpTo<VectorOf<T>::kLanes>::Type;

template <class V, int... i>
V LowPairs(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b, (i % 2 * int{sizeof...(i)} + i / 2)...);
}
template <class V, int... i>
V HighPairs(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b,
                                 (i % 2 * int{sizeof...(i)} + (i + int{sizeof...(i)}) / 2)...);
}
template <int kFirst, class V, int... i>
V EverySecond(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b, (2 * i + kFirst)...);
}
template <class V, int... i>
V Reversed(V a, Indices<i...>) {
  return __builtin_shufflevector(a, a, (int{sizeof...(i)} - 1 - i)...);
}

// A vector of complex numbers.
template <class T>
struct Numbers {
  Vector<T> re, im;
};

template <class T>
inline Numbers<T> operator+(Numbers<T> a, Numbers<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
inline Numbers<T> operator-(Numbers<T> a, Numbers<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
inline Numbers<T> operator*(Numbers<T> a, Numbers<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
inline Numbers<T> Scaled(Numbers<T> a, T s) {
  return {a.re * s, a.im * s};
}

template <class T>
inline Numbers<T> Broadcast(const T* pair) {
  return {Splat(pair[0]), Splat(pair[1])};
}

template <class T>
inline Numbers<T> RowAt(const FftRows<T>& rows, int64_t i) {
  return {Load(rows.re + i * rows.stride), Load(rows.im + i * rows.stride)};
}

template <class T>
inline void PutRow(const FftRows<T>& rows, int64_t i, Numbers<T> x) {
  Store(rows.re + i * rows.stride, x.re);
  Store(rows.im + i * rows.stride, x.im);
}

template <class T>
inline Numbers<T> LoadPairs(const T* p) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  const Vector<T> a = Load(p), b = Load(p + kLanes);
  return {EverySecond<0>(a, b, EachLane<T>{}), EverySecond<1>(a, b, EachLane<T>{})};
}

template <class T>
inline void StorePairs(T* p, Numbers<T> x) {
  Store(p, LowPairs(x.re, x.im, EachLane<T>{}));
  Store(p + VectorOf<T>::kLanes, HighPairs(x.re, x.im, EachLane<T>{}));
}

// Butterflies: transforms of length kRadix in place.

// Times -i, or i for the inverse.
template <bool kInverse, class T>
inline Numbers<T> Turned(Numbers<T> x) {
  if constexpr (kInverse) {
    return {-x.im, x.re};
  } else {
    return {x.im, -x.re};
  }
}

template <bool kInverse, class T>
inline void Butterfly4(Numbers<T>& a, Numbers<T>& b, Numbers<T>& c, Numbers<T>& d) {
  const Numbers<T> even = a + c, even_difference = a - c, odd = b + d;
  const Numbers<T> turned = Turned<kInverse>(b - d);
  a = even + odd;
  b = even_difference + turned;
  c = even - odd;
  d = even_difference - turned;
}

template <int kRadix, bool kInverse>
struct Butterfly;

template <bool kInverse>
struct Butterfly<2, kInverse> {
  template <class T>
  static void Run(Numbers<T>* x, const T*) {
    const Numbers<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  }
};

template <bool kInverse>
struct Butterfly<3, kInverse> {
  template <class T>
  static void Run(Numbers<T>* x, const T*) {
    const Numbers<T> sum = x[1] + x[2];
    const Numbers<T> middle = x[0] - Scaled(sum, T(0.5));
    const Numbers<T> turned = Turned<kInverse>(Scaled(x[1] - x[2], T(0.866025403784438646763723)));
    x[0] = x[0] + sum;
    x[1] = middle + turned;
    x[2] = middle - turned;
  }
};

template <bool kInverse>
struct Butterfly<4, kInverse> {
  template <class T>
  static void Run(Numbers<T>* x, const T*) {
    Butterfly4<kInverse>(x[0], x[1], x[2], x[3]);
  }
};

template <bool kInverse>
struct Butterfly<5, kInverse> {
  template <class T>
  static void Run(Numbers<T>* x, const T*) {
    const T cos1 = T(0.309016994374947424102293), cos2 = T(-0.809016994374947424102293);
    const T sin1 = T(0.951056516295153572116439), sin2 = T(0.587785252292473129168706);
    const Numbers<T> sum1 = x[1] + x[4], sum2 = x[2] + x[3];
    const Numbers<T> difference1 = x[1] - x[4], difference2 = x[2] - x[3];
    const Numbers<T> a = x[0] + Scaled(sum1, cos1) + Scaled(sum2, cos2);
    const Numbers<T> b = x[0] + Scaled(sum1, cos2) + Scaled(sum2, cos1);
    const Numbers<T> c = Turned<kInverse>(Scaled(difference1, sin1) + Scaled(difference2, sin2));
    const Numbers<T> d = Turned<kInverse>(Scaled(difference1, sin2) - Scaled(difference2, sin1));
    x[0] = x[0] + sum1 + sum2;
    x[1] = a + c;
    x[2] = b + d;
    x[3] = b - d;
    x[4] = a - c;
  }
};

template <bool kInverse>
struct Butterfly<8, kInverse> {
  template <class T>
  static void Run(Numbers<T>* x, const T*) {
    const T half_root = T(0.707106781186547524400844);
    Butterfly4<kInverse>(x[0], x[2], x[4], x[6]);
    Butterfly4<kInverse>(x[1], x[3], x[5], x[7]);
    const Numbers<T> turned3 = Turned<kInverse>(x[3]), turned7 = Turned<kInverse>(x[7]);
    const Numbers<T> odd1 = Scaled(x[3] + turned3, half_root), odd2 = Turned<kInverse>(x[5]),
                     odd3 = Scaled(turned7 - x[7], half_root);
    const Numbers<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], odd1, odd2, odd3};
    for (int r = 0; r < 4; ++r) {
      x[r] = even[r] + odd[r];
      x[r + 4] = even[r] - odd[r];
    }
  }
};

// Any other radix by its definition.
template <int kRadix, bool kInverse>
struct Butterfly {
  template <class T>
  static void Run(Numbers<T>* x, const T* inner) {
    Numbers<T> y[kRadix];
    for (int r = 0; r < kRadix; ++r) {
      y[r] = x[0];
      for (int k = 1; k < kRadix; ++k) y[r] = y[r] + x[k] * Broadcast(inner + 2 * (r * k % kRadix));
    }
    for (int r = 0; r < kRadix; ++r) x[r] = y[r];
  }
};

template <int kRadix, bool kInverse, bool kRoots, class T>
void PassGroup(const FftPass<T>& pass, int64_t j, const FftRows<T>& from, const FftRows<T>& to) {
  const T* const roots = pass.roots + j * (kRadix - 1) * 2;
  for (int64_t q = 0; q < pass.stride; ++q) {
    Numbers<T> x[kRadix];
#pragma GCC unroll 16
    for (int k = 0; k < kRadix; ++k) x[k] = RowAt(from, q + pass.stride * (j + k * pass.groups));
    Butterfly<kRadix, kInverse>::Run(x, pass.inner);
    const int64_t at = q + pass.stride * kRadix * j;
    PutRow(to, at, x[0]);
#pragma GCC unroll 16
    for (int r = 1; r < kRadix; ++r) {
      if constexpr (kRoots) x[r] = x[r] * Broadcast(roots + 2 * (r - 1));
      PutRow(to, at + pass.stride * r, x[r]);
    }
  }
}

template <int kRadix, class T>
void RadixPass(const FftPass<T>& pass, const FftRows<T>& from, const FftRows<T>& to) {
  if (pass.is_inverse) {
    PassGroup<kRadix, true, false>(pass, 0, from, to);  // its roots are 1
    for (int64_t j = 1; j < pass.groups; ++j) PassGroup<kRadix, true, true>(pass, j, from, to);
  } else {
    PassGroup<kRadix, false, false>(pass, 0, from, to);
    for (int64_t j = 1; j < pass.groups; ++j) PassGroup<kRadix, false, true>(pass, j, from, to);
  }
}

template <class T>
void AnyPass(const FftPass<T>& pass, const FftRows<T>& from, const FftRows<T>& to) {
  switch (pass.radix) {
    case 2: return RadixPass<2>(pass, from, to);
    case 3: return RadixPass<3>(pass, from, to);
    case 4: return RadixPass<4>(pass, from, to);
    case 5: return RadixPass<5>(pass, from, to);
    case 7: return RadixPass<7>(pass, from, to);
    case 8: return RadixPass<8>(pass, from, to);
    case 11: return RadixPass<11>(pass, from, to);
    case 13: return RadixPass<13>(pass, from, to);
    default: __builtin_unreachable();
  }
}

// Between the passes.

// Rows and lanes of a square tile change places: each step shuffles the halves together.
template <class T>
inline void TransposeTile(Vector<T>* x) {
  constexpr int kLanes = VectorOf<T>::kLanes;
#pragma GCC unroll 4
  for (int step = 1; step < kLanes; step *= 2) {
    Vector<T> y[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      y[2 * i] = LowPairs(x[i], x[i + kLanes / 2], EachLane<T>{});
      y[2 * i + 1] = HighPairs(x[i], x[i + kLanes / 2], EachLane<T>{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) x[i] = y[i];
  }
}

template <class T>
inline void StoreTransposed(Vector<T>* tile, int64_t count, T* to, int64_t stride) {
  TransposeTile<T>(tile);
  if (count >= VectorOf<T>::kLanes) {
#pragma GCC unroll 16
    for (int j = 0; j < VectorOf<T>::kLanes; ++j) Store(to + j * stride, tile[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) Store(to + j * stride, tile[j]);
  }
}

template <class T>
void Twist(const FftRows<T>& from, int64_t rows, int64_t count, const FftSplit<T>& roots,
           const FftRows<T>& to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  for (int64_t first = 0; first < rows; first += kLanes) {
    Vector<T> re[kLanes], im[kLanes];
    const int64_t here = rows - first < kLanes ? rows - first : kLanes;
    for (int64_t i = 0; i < here; ++i) {
      const Numbers<T> root = {Load(roots.re + (first + i) * kLanes),
                               Load(roots.im + (first + i) * kLanes)};
      const Numbers<T> x = RowAt(from, first + i) * root;
      re[i] = x.re;
      im[i] = x.im;
    }
    for (int64_t i = here; i < kLanes; ++i) re[i] = im[i] = Vector<T>{};
    StoreTransposed<T>(re, count, to.re + first, to.stride);
    StoreTransposed<T>(im, count, to.im + first, to.stride);
  }
}

template <class T>
void ScaleRows(const FftRows<T>& from, int64_t rows, const T* factors, const FftRows<T>& to) {
  for (int64_t i = 0; i < rows; ++i) PutRow(to, i, RowAt(from, i) * Broadcast(factors + 2 * i));
}

// Lines.

template <class T>
void MultiplyLines(const FftSplit<T>& a, const FftSplit<T>& b, int64_t count,
                   const FftSplit<T>& to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Numbers<T> x = {Load(a.re + i), Load(a.im + i)}, y = {Load(b.re + i), Load(b.im + i)};
    const Numbers<T> product = x * y;
    Store(to.re + i, product.re);
    Store(to.im + i, product.im);
  }
  for (; i < count; ++i) {
    const T re = a.re[i] * b.re[i] - a.im[i] * b.im[i];
    to.im[i] = a.re[i] * b.im[i] + a.im[i] * b.re[i];
    to.re[i] = re;
  }
}

template <class T>
void SplitPairs(const T* from, int64_t count, const FftSplit<T>& to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Numbers<T> x = LoadPairs(from + 2 * i);
    Store(to.re + i, x.re);
    Store(to.im + i, x.im);
  }
  for (; i < count; ++i) {
    to.re[i] = from[2 * i];
    to.im[i] = from[2 * i + 1];
  }
}

template <class T>
void JoinPairs(const FftSplit<T>& from, int64_t count, T scale, T* to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Numbers<T> x = {Load(from.re + i), Load(from.im + i)};
    StorePairs(to + 2 * i, Scaled(x, scale));
  }
  for (; i < count; ++i) {
    to[2 * i] = from.re[i] * scale;
    to[2 * i + 1] = from.im[i] * scale;
  }
}

// With s and d the half sum and half difference of z[k] and conj(z[half - k]): s - i * root * d.
template <class V>
inline void Untangled(V re, V im, V back_re, V back_im, V root_re, V root_im, V& to_re, V& to_im) {
  const V sum_re = re + back_re, sum_im = im - back_im;
  const V difference_re = re - back_re, difference_im = im + back_im;
  to_re = (sum_re + (root_re * difference_im + root_im * difference_re)) / 2;
  to_im = (sum_im - (root_re * difference_re - root_im * difference_im)) / 2;
}

template <class T>
void Untangle(const FftSplit<T>& from, int64_t half, const FftSplit<T>& roots, T* to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  const T re = from.re[0], im = from.im[0];
  to[0] = re + im;
  to[1] = 0;
  to[2 * half] = re - im;
  to[2 * half + 1] = 0;
  int64_t k = 1;
  for (; k + kLanes <= half; k += kLanes) {
    const int64_t back = half - k - kLanes + 1;
    Numbers<T> x;
    Untangled(Load(from.re + k), Load(from.im + k), Reversed(Load(from.re + back), EachLane<T>{}),
              Reversed(Load(from.im + back), EachLane<T>{}), Load(roots.re + k), Load(roots.im + k),
              x.re, x.im);
    StorePairs(to + 2 * k, x);
  }
  for (; k < half; ++k) {
    Untangled(from.re[k], from.im[k], from.re[half - k], from.im[half - k], roots.re[k],
              roots.im[k], to[2 * k], to[2 * k + 1]);
  }
}

// With s and d the sum and difference of x[k] and conj(x[half - k]): s + i * root * d.
template <class V>
inline void Tangled(V re, V im, V back_re, V back_im, V root_re, V root_im, V& to_re, V& to_im) {
  const V difference_re = re - back_re, difference_im = im + back_im;
  to_re = (re + back_re) - (root_re * difference_im + root_im * difference_re);
  to_im = (im - back_im) + (root_re * difference_re - root_im * difference_im);
}

template <class T>
void Tangle(const T* from, int64_t half, const FftSplit<T>& roots, const FftSplit<T>& to) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  to.re[0] = from[0] + from[2 * half];  // the first and the last number of a half spectrum are real
  to.im[0] = from[0] - from[2 * half];
  int64_t k = 1;
  for (; k + kLanes <= half; k += kLanes) {
    const Numbers<T> x = LoadPairs(from + 2 * k);
    const Numbers<T> back = LoadPairs(from + 2 * (half - k - kLanes + 1));
    Numbers<T> z;
    Tangled(x.re, x.im, Reversed(back.re, EachLane<T>{}), Reversed(back.im, EachLane<T>{}),
            Load(roots.re + k), Load(roots.im + k), z.re, z.im);
    Store(to.re + k, z.re);
    Store(to.im + k, z.im);
  }
  for (; k < half; ++k) {
    Tangled(from[2 * k], from[2 * k + 1], from[2 * (half - k)], from[2 * (half - k) + 1],
            roots.re[k], roots.im[k], to.re[k], to.im[k]);
  }
}

template <class T>
FftKernels<T> MakeFftKernels() {
  FftKernels<T> k;
  k.lanes = VectorOf<T>::kLanes;
  k.pass = AnyPass<T>;
  k.twist = Twist<T>;
  k.scale_rows = ScaleRows<T>;
  k.multiply = MultiplyLines<T>;
  k.split = SplitPairs<T>;
  k.join = JoinPairs<T>;
  k.untangle = Untangle<T>;
  k.tangle = Tangle<T>;
  return k;
}

}  // namespace
}  // namespace hlo::cpu
