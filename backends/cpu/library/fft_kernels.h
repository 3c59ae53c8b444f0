// backends/cpu/library/fft_kernels.h
//
// The innermost loops of the Fourier transforms, once for each instruction set (kernels.h). Real
// and imaginary parts stand apart. A row is one vector of each: as many lines side by side as there
// are lanes, so that every pass is made of whole vectors, whatever the length of the lines.
#pragma once

#include <cstdint>

namespace hlo::cpu {

// Row i is at re + i * stride and im + i * stride.
template <class T>
struct FftRows {
  T* re = nullptr;
  T* im = nullptr;
  int64_t stride = 0;
};

inline constexpr int kLargestFftRadix = 13;

// One pass of Stockham's self-sorting transform: transforms of length `radix` over rows that are
// stride * groups apart, times a root for each output:
//   to[q + stride * (radix * j + r)] = root(j, r) * sum over k of from[q + stride * (j + k * groups)] * w^(r k)
template <class T>
struct FftPass {
  int radix = 0;
  int64_t stride = 1;  // product of the radices done
  int64_t groups = 1;  // length / stride / radix
  bool is_inverse = false;
  const T* roots = nullptr;  // (re, im) of root(j, r), [groups][radix - 1]
  const T* inner = nullptr;  // (re, im) of the powers of w
};

// Complex numbers of a line, real and imaginary parts apart.
template <class T>
struct FftSplit {
  T* re = nullptr;
  T* im = nullptr;
};

template <class T>
struct FftKernels {
  int lanes = 0;
  void (*pass)(const FftPass<T>& pass, const FftRows<T>& from, const FftRows<T>& to) = nullptr;
  // to[row j][lane i] = from[row i][lane j] * roots[i * lanes + j], for i < rows and j < count; row
  // j of `to` is filled with zeros to a whole number of vectors.
  void (*twist)(const FftRows<T>& from, int64_t rows, int64_t count, const FftSplit<T>& roots,
                const FftRows<T>& to) = nullptr;
  // to[row i] = from[row i] * factors[i], (re, im) each.
  void (*scale_rows)(const FftRows<T>& from, int64_t rows, const T* factors,
                     const FftRows<T>& to) = nullptr;
  // Element by element: to[i] = a[i] * b[i].
  void (*multiply)(const FftSplit<T>& a, const FftSplit<T>& b, int64_t count,
                   const FftSplit<T>& to) = nullptr;
  // (re, im) pairs apart, and together again, times `scale`.
  void (*split)(const T* from, int64_t count, const FftSplit<T>& to) = nullptr;
  void (*join)(const FftSplit<T>& from, int64_t count, T scale, T* to) = nullptr;
  // The half spectrum of 2 * half real numbers from the transform of them taken as `half` complex
  // ones, and the other way round; roots[k] = exp(-+2 pi i k / (2 * half)).
  void (*untangle)(const FftSplit<T>& from, int64_t half, const FftSplit<T>& roots,
                   T* to) = nullptr;
  void (*tangle)(const T* from, int64_t half, const FftSplit<T>& roots,
                 const FftSplit<T>& to) = nullptr;
};

}  // namespace hlo::cpu
