#include "backends/cpu/library/fft_line.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace hlo::cpu {
namespace {

constexpr int64_t kLargestFactor = 13;

// Factors of n, or none if one of them is too large.
std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t p : {4, 2, 3, 5, 7, 11, 13}) {
    for (; n % p == 0 && n > 1; n /= p) factors.push_back(p);
  }
  if (n > kLargestFactor) factors.clear();
  return factors;
}

// exp(2 pi i * numerator / denominator * sign), computed in double.
template <class T>
Complex<T> Root(int64_t numerator, int64_t denominator, double sign) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(sign * std::sin(angle))};
}

// Multiplication by i or -i.
template <class T>
Complex<T> Turn(Complex<T> x, bool is_inverse) {
  return is_inverse ? Complex<T>{-x.im, x.re} : Complex<T>{x.im, -x.re};
}

// One pass: transforms of length kRadix over elements `quarter` apart, times a root for each output.
//   to[q + stride * (radix * j + r)] = root(j * r) * sum over k of from[q + stride * (j + k * groups)] * w^(r k)
template <class T>
struct Pass {
  const Complex<T>* from;
  Complex<T>* to;
  const Complex<T>* roots;  // of the whole length
  int64_t length;           // the whole length
  int64_t stride;           // product of the factors done
  int64_t groups;           // length / stride / radix
  bool is_inverse;

  void Radix2() const {
    for (int64_t j = 0; j < groups; ++j) {
      const Complex<T> w1 = roots[j * stride];
      const Complex<T>* a = from + stride * j;
      const Complex<T>* b = from + stride * (j + groups);
      Complex<T>* out = to + stride * 2 * j;
      for (int64_t q = 0; q < stride; ++q) {
        const Complex<T> x = a[q], y = b[q];
        out[q] = x + y;
        out[q + stride] = (x - y) * w1;
      }
    }
  }

  void Radix4() const {
    for (int64_t j = 0; j < groups; ++j) {
      const Complex<T> w1 = roots[j * stride], w2 = roots[2 * j * stride],
                       w3 = roots[3 * j * stride];
      const Complex<T>* a = from + stride * j;
      const int64_t step = stride * groups;
      Complex<T>* out = to + stride * 4 * j;
      for (int64_t q = 0; q < stride; ++q) {
        const Complex<T> even = a[q] + a[q + 2 * step], even_difference = a[q] - a[q + 2 * step];
        const Complex<T> odd = a[q + step] + a[q + 3 * step];
        const Complex<T> turned = Turn(a[q + step] - a[q + 3 * step], is_inverse);
        out[q] = even + odd;
        out[q + stride] = (even_difference + turned) * w1;
        out[q + 2 * stride] = (even - odd) * w2;
        out[q + 3 * stride] = (even_difference - turned) * w3;
      }
    }
  }

  void AnyRadix(int64_t radix) const {
    Complex<T> inner[kLargestFactor];  // the radix-th roots
    for (int64_t r = 0; r < radix; ++r) inner[r] = roots[r * (length / radix)];
    for (int64_t j = 0; j < groups; ++j) {
      for (int64_t q = 0; q < stride; ++q) {
        Complex<T> x[kLargestFactor];
        for (int64_t k = 0; k < radix; ++k) x[k] = from[q + stride * (j + k * groups)];
        for (int64_t r = 0; r < radix; ++r) {
          Complex<T> sum = x[0];
          int64_t power = 0;
          for (int64_t k = 1; k < radix; ++k) {
            power += r;
            if (power >= radix) power -= radix;
            sum = sum + x[k] * inner[power];
          }
          to[q + stride * (radix * j + r)] = sum * roots[j * r * stride];
        }
      }
    }
  }
};

}  // namespace

template <class T>
FftLine<T>::FftLine(int64_t length, bool is_inverse)
    : length_(length), is_inverse_(is_inverse), factors_(FactorsOf(length)) {
  const double sign = is_inverse ? 1.0 : -1.0;
  if (!factors_.empty() || length == 1) {
    for (int64_t i = 0; i < length; ++i) roots_.push_back(Root<T>(i, length, sign));
    return;
  }
  // x[j] * chirp[j], convolved with conj(chirp), times chirp; chirp[j] = exp(sign * pi i j^2 / n).
  int64_t power = 1;
  while (power < 2 * length - 1) power *= 2;
  forward_ = std::make_unique<FftLine>(power, /*is_inverse=*/false);
  backward_ = std::make_unique<FftLine>(power, /*is_inverse=*/true);
  chirp_transform_.resize(static_cast<size_t>(power));
  for (int64_t j = 0; j < length; ++j) {
    const int64_t square = j * j % (2 * length);  // the angle repeats after 2n; keeps it exact
    chirp_.push_back(Root<T>(square, 2 * length, sign));
    const Complex<T> conjugate = {chirp_.back().re, -chirp_.back().im};
    chirp_transform_[static_cast<size_t>(j)] = conjugate;
    if (j > 0) chirp_transform_[static_cast<size_t>(power - j)] = conjugate;
  }
  std::vector<Complex<T>> work(static_cast<size_t>(forward_->work_size()));
  forward_->Run(chirp_transform_.data(), work.data());
  for (Complex<T>& x : chirp_transform_) x = x * (T{1} / static_cast<T>(power));
}

template <class T>
int64_t FftLine<T>::work_size() const {
  return forward_ == nullptr ? length_ : forward_->length() + forward_->work_size();
}

template <class T>
void FftLine<T>::Run(Complex<T>* data, Complex<T>* work) const {
  if (length_ == 1) return;
  if (forward_ == nullptr) {
    RunPasses(data, work);
  } else {
    RunBluestein(data, work);
  }
}

template <class T>
void FftLine<T>::RunPasses(Complex<T>* data, Complex<T>* work) const {
  Complex<T>* from = data;
  Complex<T>* to = work;
  int64_t stride = 1;
  for (const int64_t radix : factors_) {
    const Pass<T> pass{from,       to, roots_.data(), length_, stride, length_ / stride / radix,
                       is_inverse_};
    if (radix == 4) {
      pass.Radix4();
    } else if (radix == 2) {
      pass.Radix2();
    } else {
      pass.AnyRadix(radix);
    }
    std::swap(from, to);
    stride *= radix;
  }
  if (from != data) std::copy_n(from, length_, data);
}

template <class T>
void FftLine<T>::RunBluestein(Complex<T>* data, Complex<T>* work) const {
  const int64_t power = forward_->length();
  Complex<T>* const padded = work;
  Complex<T>* const inner = work + power;
  for (int64_t j = 0; j < length_; ++j) padded[j] = data[j] * chirp_[static_cast<size_t>(j)];
  std::fill(padded + length_, padded + power, Complex<T>{});
  forward_->Run(padded, inner);
  for (int64_t j = 0; j < power; ++j)
    padded[j] = padded[j] * chirp_transform_[static_cast<size_t>(j)];
  backward_->Run(padded, inner);
  for (int64_t j = 0; j < length_; ++j) data[j] = padded[j] * chirp_[static_cast<size_t>(j)];
}

template class FftLine<float>;
template class FftLine<double>;

}  // namespace hlo::cpu
