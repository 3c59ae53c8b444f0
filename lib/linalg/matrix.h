// lib/linalg/matrix.h
//
// Row-major matrices, and numbers that may be complex.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace hlo::linalg {

template <class T>
inline constexpr bool kIsComplex = false;
template <class R>
inline constexpr bool kIsComplex<std::complex<R>> = true;

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <class T>
using Real = typename RealOf<T>::Type;

template <class T>
T Conj(T x) {
  if constexpr (kIsComplex<T>) {
    return {x.real(), -x.imag()};
  } else {
    return x;
  }
}
template <class T>
Real<T> Re(T x) {
  if constexpr (kIsComplex<T>) {
    return x.real();
  } else {
    return x;
  }
}
template <class T>
Real<T> Im([[maybe_unused]] T x) {
  if constexpr (kIsComplex<T>) {
    return x.imag();
  } else {
    return 0;
  }
}
// |re| + |im|: the size by which LAPACK chooses pivots.
template <class T>
Real<T> Size1(T x) {
  return std::abs(Re(x)) + std::abs(Im(x));
}
// Without the recovery of infinities that std::complex does.
template <class T>
T Times(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

// Division by one number again and again. Complex ones are multiplied by the inverse, as LAPACK
// does, unless that might overflow.
template <class T>
class Divisor final {
 public:
  explicit Divisor(T divisor) : divisor_(divisor) {
    if constexpr (kIsComplex<T>) {
      constexpr Real<T> kSmallest = std::numeric_limits<Real<T>>::min() * 4;
      by_inverse_ = Size1(divisor) >= kSmallest && Size1(divisor) <= 1 / kSmallest;
      if (by_inverse_) inverse_ = T(1) / divisor;
    }
  }
  T Divide(T x) const {
    if constexpr (kIsComplex<T>) {
      if (by_inverse_) return Times(x, inverse_);
    }
    return x / divisor_;
  }

 private:
  T divisor_, inverse_{};
  bool by_inverse_ = false;
};

template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns;
  T& operator()(int64_t i, int64_t j) const { return data[i * columns + j]; }
  T* row(int64_t i) const { return data + i * columns; }
};

// Copies a row-major matrix in column-major order, and back: the same with rows and columns
// exchanged. By squares, so that both sides stay in the cache.
template <class T>
void Transpose(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t kSide = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kSide) {
    const int64_t i1 = std::min(rows, i0 + kSide);
    for (int64_t j0 = 0; j0 < columns; j0 += kSide) {
      const int64_t j1 = std::min(columns, j0 + kSide);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

}  // namespace hlo::linalg
