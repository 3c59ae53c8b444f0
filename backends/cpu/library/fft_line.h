// backends/cpu/library/fft_line.h
//
// The transform of one line of complex numbers, for fft.cc. Internal to this folder.
//
// Lengths made of small primes: Stockham's self-sorting passes, one per factor, radix 4, 2, 3, 5,
// then others. Other lengths: Bluestein's method, a convolution with a chirp by transforms of a
// power of two.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hlo::cpu {

// std::complex multiplies with checks for infinities; here plain arithmetic is wanted.
template <class T>
struct Complex {
  T re = 0, im = 0;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  Complex operator*(T s) const { return {re * s, im * s}; }
};

template <class T>
class FftLine final {
 public:
  // `length` is at least 1. An inverse line is not scaled.
  FftLine(int64_t length, bool is_inverse);

  int64_t length() const { return length_; }

  // Complex numbers of working memory for Run.
  int64_t work_size() const;

  // Transforms `data` in place.
  void Run(Complex<T>* data, Complex<T>* work) const;

 private:
  void RunPasses(Complex<T>* data, Complex<T>* work) const;
  void RunBluestein(Complex<T>* data, Complex<T>* work) const;

  int64_t length_;
  bool is_inverse_;
  std::vector<int64_t> factors_;   // empty for Bluestein
  std::vector<Complex<T>> roots_;  // the length_-th roots of one
  // Bluestein: the chirp, the transform of its conjugate, and transforms of a power of two.
  std::vector<Complex<T>> chirp_, chirp_transform_;
  std::unique_ptr<FftLine> forward_, backward_;
};

extern template class FftLine<float>;
extern template class FftLine<double>;

}  // namespace hlo::cpu
