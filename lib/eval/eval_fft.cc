// fft in c128: mixed radix by recursion on the smallest prime factor, the definition for prime
// lengths (Bluestein's convolution beyond 64). Rounded once at the end.
#include <complex>

#include "absl/algorithm/container.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"
#include "lib/math/native.h"
#include "lib/math/roots_of_unity.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

// e^(sign 2 pi i k / n), with the angle reduced first.
Complex Root(int64_t k, int64_t n, int sign) {
  const auto root = math::RootOfUnity(k % n, n);
  return {root.re, sign * root.im};
}

Signal Transform(const Signal& x, int sign);

// Length n as a convolution of a power-of-two length.
Signal Bluestein(const Signal& x, int sign) {
  const int64_t n = static_cast<int64_t>(x.size());
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  Signal a(static_cast<size_t>(m)), b(static_cast<size_t>(m));
  const auto chirp = [&](int64_t k) { return Root(k * k % (2 * n), 2 * n, sign); };
  for (int64_t k = 0; k < n; ++k) {
    a[static_cast<size_t>(k)] = x[static_cast<size_t>(k)] * chirp(k);
    b[static_cast<size_t>(k)] = std::conj(chirp(k));
    if (k > 0) b[static_cast<size_t>(m - k)] = std::conj(chirp(k));
  }
  Signal fa = Transform(a, -1);
  const Signal fb = Transform(b, -1);
  for (size_t i = 0; i < fa.size(); ++i) fa[i] *= fb[i];
  const Signal product = Transform(fa, 1);
  Signal result(x.size());
  for (int64_t k = 0; k < n; ++k) {
    result[static_cast<size_t>(k)] =
        product[static_cast<size_t>(k)] / static_cast<double>(m) * chirp(k);
  }
  return result;
}

// X[j] = sum x[k] e^(sign 2 pi i j k / n), not normalised.
Signal Transform(const Signal& x, int sign) {
  const int64_t n = static_cast<int64_t>(x.size());
  if (n <= 1) return x;
  int64_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  if (p == n && n > 64) return Bluestein(x, sign);
  const int64_t m = n / p;
  std::vector<Signal> parts(static_cast<size_t>(p), Signal(static_cast<size_t>(m)));
  for (int64_t i = 0; i < n; ++i)
    parts[static_cast<size_t>(i % p)][static_cast<size_t>(i / p)] = x[static_cast<size_t>(i)];
  for (Signal& part : parts) part = Transform(part, sign);
  Signal result(x.size());
  for (int64_t j = 0; j < n; ++j) {
    Complex sum = 0;
    for (int64_t r = 0; r < p; ++r)
      sum += Root(j * r, n, sign) * parts[static_cast<size_t>(r)][static_cast<size_t>(j % m)];
    result[static_cast<size_t>(j)] = sum;
  }
  return result;
}

// Transforms every line along dimension d.
void TransformAlong(Signal& data, const DimVec& dims, size_t d, int sign) {
  const DimVec strides = RowMajorStrides(dims);
  DimVec others = dims;
  others[d] = 1;
  for (int64_t start : AllOffsets(others, strides)) {
    Signal line(static_cast<size_t>(dims[d]));
    for (size_t i = 0; i < line.size(); ++i)
      line[i] = data[static_cast<size_t>(start) + i * static_cast<size_t>(strides[d])];
    line = Transform(line, sign);
    const double scale = sign > 0 ? 1 / static_cast<double>(dims[d]) : 1;
    for (size_t i = 0; i < line.size(); ++i) {
      data[static_cast<size_t>(start) + i * static_cast<size_t>(strides[d])] = line[i] * scale;
    }
  }
}

// The last dimension cut, or extended by `fill`.
template <class Fill>
Signal WithLastDimension(const Signal& data, const DimVec& dims, int64_t size, Fill fill) {
  const int64_t old = dims.back();
  const int64_t rows = old == 0 ? 0 : static_cast<int64_t>(data.size()) / old;
  Signal result(static_cast<size_t>(rows * size));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < size; ++i)
      result[static_cast<size_t>(row * size + i)] = fill(row * old, i);
  }
  return result;
}

}  // namespace

EvalResult EvalFft(EvalContext& c) {
  const FftAttrs& attrs = c.attrs<FftAttrs>();
  const Literal& operand = c.operand(0);
  DimVec dims = Dims(operand);
  const size_t rank = dims.size(), axes = attrs.fft_length.size();
  if (axes > rank)
    return Error(c.loc(), "`fft` of {} dimensions on an array of rank {}", axes, rank);
  const Shape shape = c.instruction.shape();
  if (shape.element_count() == 0) return Literal(shape);
  for (size_t i = 0; i < axes; ++i) {
    const bool is_last = i + 1 == axes;
    int64_t expected = attrs.fft_length[i];
    if (is_last && attrs.fft_type == FftType::kIrfft) expected = expected / 2 + 1;
    if (attrs.fft_length[i] != 0 && dims[rank - axes + i] != expected) {
      return Error(c.loc(), "`fft_length` is {} for dimension {} of size {}", attrs.fft_length[i],
                   rank - axes + i, dims[rank - axes + i]);
    }
  }
  if (absl::c_linear_search(attrs.fft_length, 0)) return Literal(shape);
  RETURN_IF_ERROR(c.evaluator.Spend(operand.element_count() * 16));
  Signal data(static_cast<size_t>(operand.element_count()));
  ReadComplexes(operand.element_type(), operand.data(), operand.element_count(), data.data());

  const int sign = attrs.fft_type == FftType::kIfft || attrs.fft_type == FftType::kIrfft ? 1 : -1;
  const size_t first = rank - axes, last = rank - 1;
  if (attrs.fft_type == FftType::kRfft) {
    TransformAlong(data, dims, last, sign);
    const int64_t old = dims.back(), half = old / 2 + 1;
    data = WithLastDimension(data, dims, half, [&](int64_t row, int64_t i) {
      return data[static_cast<size_t>(row + i)];
    });
    dims.back() = half;
    for (size_t d = last; d-- > first;) TransformAlong(data, dims, d, sign);
  } else if (attrs.fft_type == FftType::kIrfft) {
    for (size_t d = first; d < last; ++d) TransformAlong(data, dims, d, sign);
    const int64_t n = attrs.fft_length.back();
    data = WithLastDimension(data, dims, n, [&](int64_t row, int64_t i) {
      const Complex value = data[static_cast<size_t>(row + (2 * i <= n ? i : n - i))];
      // The first and the middle coefficient of a real signal are real.
      if (i == 0 || 2 * i == n) return Complex(value.real(), 0);
      return 2 * i < n ? value : std::conj(value);
    });
    dims.back() = n;
    TransformAlong(data, dims, last, sign);
  } else {
    for (size_t d = first; d <= last; ++d) TransformAlong(data, dims, d, sign);
  }
  Literal result(shape);
  WriteComplexes(shape.element_type(), data.data(), result.element_count(), result.mutable_data());
  return result;
}

}  // namespace hlo
