// cholesky and triangular-solve in f64 (c128 for complex), rounded once at the end.
#include <complex>
#include <cstring>

#include "lib/eval/eval_internal.h"
#include "lib/eval/wide_values.h"

namespace hlo {
namespace {

double Conjugate(double x) { return x; }
std::complex<double> Conjugate(std::complex<double> x) { return std::conj(x); }
double RealOf(double x) { return x; }
double RealOf(std::complex<double> x) { return x.real(); }

// Products without the recovery of infinities that std::complex does.
double Times(double a, double b) { return a * b; }
std::complex<double> Times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The lower factor of one n x n matrix in place. A pivot that is negative or NaN makes everything
// NaN; a zero pivot divides by zero.
template <class T>
void FactorInPlace(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    double pivot = RealOf(a[j * n + j]);
    for (int64_t k = 0; k < j; ++k) pivot -= RealOf(Times(a[j * n + k], Conjugate(a[j * n + k])));
    if (!(pivot >= 0)) {
      std::fill(a, a + n * n, T(std::numeric_limits<double>::quiet_NaN()));
      if constexpr (!std::is_same_v<T, double>) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        std::fill(a, a + n * n, T(nan, nan));
      }
      return;
    }
    const double root = std::sqrt(pivot);
    a[j * n + j] = T(pivot / root);  // an imaginary part of the diagonal is not read
    for (int64_t i = j + 1; i < n; ++i) {
      T value = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) value -= Times(a[i * n + k], Conjugate(a[j * n + k]));
      a[i * n + j] = value / root;
    }
  }
}

template <class T>
Literal CholeskyOf(const Literal& a, bool lower) {
  std::vector<T> values = ReadAll<T>(a);
  const int64_t n = a.shape().dim(a.shape().rank() - 1);
  const int64_t batches = n == 0 ? 0 : a.element_count() / (n * n);
  std::vector<T> matrix(static_cast<size_t>(n * n));
  for (int64_t b = 0; b < batches; ++b) {
    T* own = values.data() + b * n * n;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        // Only the chosen triangle is read; A = U^H U has the lower factor U^H.
        T value = T(0);
        if (j <= i) value = lower ? own[i * n + j] : Conjugate(own[j * n + i]);
        matrix[static_cast<size_t>(i * n + j)] = value;
      }
    }
    FactorInPlace(matrix.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        own[i * n + j] = lower ? matrix[static_cast<size_t>(i * n + j)]
                               : Conjugate(matrix[static_cast<size_t>(j * n + i)]);
      }
    }
  }
  return WriteAll(a.shape(), values);
}

// Solves op(a) x = b for one m x m matrix and columns of b with the given strides.
template <class T>
void SolveColumn(const T* a, int64_t m, bool lower, bool unit, int op, T* x, int64_t stride) {
  // op(a) is lower triangular where a is and op does not transpose, or neither.
  const bool forward = lower == (op == 0);
  const auto at = [&](int64_t i, int64_t j) {
    if (op == 0) return a[i * m + j];
    return op == 1 ? a[j * m + i] : Conjugate(a[j * m + i]);
  };
  for (int64_t s = 0; s < m; ++s) {
    const int64_t i = forward ? s : m - 1 - s;
    T value = x[i * stride];
    for (int64_t t = 0; t < s; ++t) {
      const int64_t j = forward ? t : m - 1 - t;
      value -= Times(at(i, j), x[j * stride]);
    }
    x[i * stride] = unit ? value : value / at(i, i);
  }
}

template <class T>
Literal SolveOf(const Literal& a, const Literal& b, const TriangularSolveAttrs& attrs,
                Shape shape) {
  const std::vector<T> matrices = ReadAll<T>(a);
  std::vector<T> values = ReadAll<T>(b);
  const int rank = b.shape().rank();
  const int64_t rows = b.shape().dim(rank - 2), columns = b.shape().dim(rank - 1);
  const int64_t m = attrs.left_side ? rows : columns;
  const int64_t batches = values.empty() ? 0 : b.element_count() / (rows * columns);
  // x op(a) = b is op(a)^T x^T = b^T: the rows of b are the columns, and the transposition flips.
  int op = attrs.transpose_a == TransposeKind::kTranspose ? 1
           : attrs.transpose_a == TransposeKind::kAdjoint ? 2
                                                          : 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<T> matrix(matrices.begin() + batch * m * m, matrices.begin() + (batch + 1) * m * m);
    T* own = values.data() + batch * rows * columns;
    if (attrs.left_side) {
      for (int64_t j = 0; j < columns; ++j) {
        SolveColumn(matrix.data(), m, attrs.lower, attrs.unit_diagonal, op, own + j, columns);
      }
      continue;
    }
    bool lower = attrs.lower;
    int flipped = op == 0 ? 1 : 0;
    if (op == 2) {
      // (a^H)^T is the conjugate of a.
      for (T& value : matrix) value = Conjugate(value);
    }
    for (int64_t i = 0; i < rows; ++i) {
      SolveColumn(matrix.data(), m, lower, attrs.unit_diagonal, flipped, own + i * columns, 1);
    }
  }
  return WriteAll(shape, values);
}

}  // namespace

EvalResult EvalCholesky(EvalContext& c) {
  const bool lower = c.attrs<CholeskyAttrs>().lower;
  if (IsComplex(c.operand(0).element_type()))
    return CholeskyOf<std::complex<double>>(c.operand(0), lower);
  return CholeskyOf<double>(c.operand(0), lower);
}

EvalResult EvalTriangularSolve(EvalContext& c) {
  const TriangularSolveAttrs& attrs = c.attrs<TriangularSolveAttrs>();
  const Shape shape = c.ResultShape(c.operand(1).shape().dims());
  if (IsComplex(c.operand(0).element_type())) {
    return SolveOf<std::complex<double>>(c.operand(0), c.operand(1), attrs, shape);
  }
  return SolveOf<double>(c.operand(0), c.operand(1), attrs, shape);
}

// ---- batch norm: statistics per feature over all other dimensions, in f64 ----

namespace {

struct FeatureView {
  int64_t features, count;  // count: elements of one feature
  std::vector<int64_t> feature_of;
};
FeatureView ViewOf(const Literal& x, int64_t feature_index) {
  FeatureView view;
  const int d = static_cast<int>(feature_index);
  view.features = x.shape().dim(d);
  view.count = view.features == 0 ? 0 : x.element_count() / view.features;
  const int64_t stride = RowMajorStrides(x.shape().dims())[static_cast<size_t>(d)];
  view.feature_of.resize(static_cast<size_t>(x.element_count()));
  for (int64_t i = 0; i < x.element_count(); ++i)
    view.feature_of[static_cast<size_t>(i)] = i / stride % view.features;
  return view;
}

using Doubles = std::vector<double>;

Doubles Sums(const FeatureView& view, const Doubles& values) {
  Doubles sums(static_cast<size_t>(view.features), 0.0);
  for (size_t i = 0; i < values.size(); ++i)
    sums[static_cast<size_t>(view.feature_of[i])] += values[i];
  return sums;
}

}  // namespace

EvalResult EvalBatchNorm(EvalContext& c) {
  const BatchNormAttrs& attrs = c.attrs<BatchNormAttrs>();
  const double epsilon = static_cast<double>(attrs.epsilon);
  const FeatureView view = ViewOf(c.operand(0), attrs.feature_index);
  const Doubles x = ReadAll<double>(c.operand(0)), scale = ReadAll<double>(c.operand(1));
  const double n = static_cast<double>(view.count);
  const Shape declared = c.instruction.shape();
  const auto feature = [&](size_t i) { return static_cast<size_t>(view.feature_of[i]); };
  Doubles y(x.size());
  if (c.opcode() == Opcode::kBatchNormInference) {
    const Doubles offset = ReadAll<double>(c.operand(2)), mean = ReadAll<double>(c.operand(3)),
                  var = ReadAll<double>(c.operand(4));
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t f = feature(i);
      y[i] = (x[i] - mean[f]) * (scale[f] / std::sqrt(var[f] + epsilon)) + offset[f];
    }
    return WriteAll(declared, y);
  }
  if (c.opcode() == Opcode::kBatchNormTraining) {
    const Doubles offset = ReadAll<double>(c.operand(2));
    Doubles squares(x.size());
    for (size_t i = 0; i < x.size(); ++i) squares[i] = x[i] * x[i];
    Doubles mean = Sums(view, x), var = Sums(view, squares);
    for (size_t f = 0; f < mean.size(); ++f) {
      mean[f] /= n;
      var[f] = var[f] / n - mean[f] * mean[f];
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t f = feature(i);
      y[i] = (x[i] - mean[f]) / std::sqrt(var[f] + epsilon) * scale[f] + offset[f];
    }
    return Literal::Tuple({WriteAll(declared.element(0), y), WriteAll(declared.element(1), mean),
                           WriteAll(declared.element(2), var)});
  }
  const Doubles mean = ReadAll<double>(c.operand(2)), var = ReadAll<double>(c.operand(3)),
                dy = ReadAll<double>(c.operand(4));
  Doubles weighted(x.size());
  for (size_t i = 0; i < x.size(); ++i) weighted[i] = dy[i] * (x[i] - mean[feature(i)]);
  const Doubles doffset = Sums(view, dy), correlation = Sums(view, weighted);
  Doubles dscale(correlation.size());
  for (size_t f = 0; f < dscale.size(); ++f)
    dscale[f] = correlation[f] / std::sqrt(var[f] + epsilon);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t f = feature(i);
    y[i] = scale[f] / std::sqrt(var[f] + epsilon) / n *
           (n * dy[i] - doffset[f] - (x[i] - mean[f]) * correlation[f] / (var[f] + epsilon));
  }
  return Literal::Tuple({WriteAll(declared.element(0), y), WriteAll(declared.element(1), dscale),
                         WriteAll(declared.element(2), doffset)});
}

}  // namespace hlo
