// Triangular and tridiagonal systems, by rows.
#include <algorithm>
#include <limits>

#include "lib/linalg/matrix.h"
#include "lib/linalg/routines.h"

namespace hlo::linalg {
namespace {

// op(a) for a triangular matrix.
template <class T>
struct Triangle {
  Matrix<const T> a;
  bool transposed, conjugated;
  T operator()(int64_t i, int64_t j) const {
    const T value = transposed ? a(j, i) : a(i, j);
    return conjugated ? Conj(value) : value;
  }
};

// row -= factor * other.
template <class T>
void Subtract(T* row, T factor, const T* other, int64_t count) {
  for (int64_t k = 0; k < count; ++k) row[k] -= Times(factor, other[k]);
}

template <class T>
void Solve(const Triangle<T>& op, bool lower, bool unit, Matrix<T> x) {
  for (int64_t s = 0; s < x.rows; ++s) {
    const int64_t i = lower ? s : x.rows - 1 - s;
    for (int64_t t = 0; t < s; ++t) {
      const int64_t j = lower ? t : x.rows - 1 - t;
      Subtract(x.row(i), op(i, j), x.row(j), x.columns);
    }
    if (unit) continue;
    const Divisor<T> divisor(op(i, i));
    for (int64_t k = 0; k < x.columns; ++k) x(i, k) = divisor.Divide(x(i, k));
  }
}

// Rows k and k + 1 of a tridiagonal system while it is eliminated: row k + 1 has its first element
// in column k.
template <class T>
void Eliminate(T* lower, T* d, T* upper, T* second, int64_t n, int64_t k, Matrix<T> b) {
  const bool last = k + 2 >= n;
  if (Size1(d[k]) >= Size1(lower[k])) {
    const T factor = lower[k] / d[k];
    d[k + 1] -= Times(factor, upper[k]);
    Subtract(b.row(k + 1), factor, b.row(k), b.columns);
    if (!last) second[k] = T(0);
    return;
  }
  const T factor = d[k] / lower[k];
  d[k] = lower[k];
  const T below = d[k + 1];
  d[k + 1] = upper[k] - Times(factor, below);
  if (!last) {
    second[k] = upper[k + 1];
    upper[k + 1] = -Times(factor, second[k]);
  }
  upper[k] = below;
  for (int64_t c = 0; c < b.columns; ++c) {
    const T value = b(k, c);
    b(k, c) = b(k + 1, c);
    b(k + 1, c) = value - Times(factor, b(k + 1, c));
  }
}

}  // namespace

template <class T>
void OwnTrsm<T>::Run(const Job& job) {
  const int64_t m = job.size('m'), n = job.size('n');
  const char transposition = job.attributes.letter("trans_x");
  const bool left = job.attributes.letter("side") == 'L';
  const bool unit = job.attributes.letter("diag") == 'U';
  // x op(a) = b is op(a)^T x^T = b^T, where the rows of x are solved side by side.
  const Triangle<T> op{{job.in<T>(0), job.size('t'), job.size('t')},
                       (transposition != 'N') == left,
                       transposition == 'C'};
  const bool lower = (job.attributes.letter("uplo") == 'L') != op.transposed;
  if (left) {
    std::copy_n(job.in<T>(1), m * n, job.out<T>(0));
    return Solve<T>(op, lower, unit, {job.out<T>(0), m, n});
  }
  T* const x = job.work.Take<T>(m * n);
  Transpose(job.in<T>(1), m, n, x);
  Solve<T>(op, lower, unit, {x, n, m});
  Transpose(x, n, m, job.out<T>(0));
}

// Gaussian elimination with exchange of neighbouring rows. As LAPACK leaves them: `dl` has the
// second diagonal above the main one of U, from its second place; `d` and `du` the other two.
template <class T>
void Gtsv<T>::Run(const Job& job) {
  const int64_t n = job.size('n');
  T* const dl = job.out<T>(0);
  T* const d = job.out<T>(1);
  T* const du = job.out<T>(2);
  const Matrix<T> b{job.out<T>(3), n, job.size('r')};
  int32_t* const info = job.out<int32_t>(4);
  for (int i = 0; i < 3; ++i) std::copy_n(job.in<T>(i), n, job.out<T>(i));
  std::copy_n(job.in<T>(3), n * b.columns, b.data);
  *info = 0;
  T* const lower = dl + 1;
  for (int64_t k = 0; k + 1 < n; ++k) {
    if (lower[k] == T(0)) {
      if (d[k] == T(0)) return static_cast<void>(*info = static_cast<int32_t>(k + 1));
      continue;
    }
    Eliminate(lower, d, du, lower, n, k, b);
  }
  if (d[n - 1] == T(0)) return static_cast<void>(*info = static_cast<int32_t>(n));
  for (int64_t k = n - 1; k >= 0; --k) {
    if (k + 1 < n) Subtract(b.row(k), du[k], b.row(k + 1), b.columns);
    if (k + 2 < n) Subtract(b.row(k), lower[k], b.row(k + 2), b.columns);
    for (int64_t c = 0; c < b.columns; ++c) b(k, c) /= d[k];
  }
}

namespace {

// Makes the pivot large enough that neither 1 / pivot nor right-hand side / pivot overflows: it
// grows by `step`, which doubles, or both are scaled (LAPACK's xLAGTS).
template <class T>
void Perturb(Real<T> step, T& pivot, T* row, int64_t count) {
  const Real<T> smallest = std::numeric_limits<Real<T>>::min(), largest = 1 / smallest;
  Real<T> most = 0;
  for (int64_t c = 0; c < count; ++c) most = std::max(most, std::abs(row[c]));
  step = std::copysign(std::max(std::abs(step), smallest), Re(pivot));
  for (Real<T> size = std::abs(pivot); size < 1; size = std::abs(pivot)) {
    const bool overflows =
        size < smallest ? size == 0 || most * smallest > size : most > size * largest;
    if (overflows) {
      pivot += T(step);
      step *= 2;
      continue;
    }
    if (size < smallest) {
      pivot *= largest;
      for (int64_t c = 0; c < count; ++c) row[c] *= largest;
    }
    return;
  }
}

// U of a tridiagonal matrix with rows exchanged: three diagonals.
template <class T>
struct Upper {
  T* d;
  T* first;
  T* second;
};

// Brings the system to upper form, its right-hand sides with it; returns the largest element of U.
// Rows are exchanged where that gives the larger pivot relative to its row (LAPACK's xLAGTF).
template <class T>
Real<T> Triangularize(const Job& job, Upper<T> u, Matrix<T> x) {
  const int64_t n = x.rows;
  const T *dl = job.in<T>(0), *d = job.in<T>(1), *du = job.in<T>(2);
  u.d[0] = d[0];
  u.first[0] = n > 1 ? du[0] : T(0);
  Real<T> largest = std::max(std::abs(u.d[0]), std::abs(u.first[0]));
  Real<T> scale = std::abs(u.d[0]) + std::abs(u.first[0]);
  for (int64_t k = 0; k + 1 < n; ++k) {
    const bool last = k + 2 == n;
    const T below = dl[k + 1], above = last ? T(0) : du[k + 1];
    const Real<T> next_scale = std::abs(below) + std::abs(d[k + 1]) + std::abs(above);
    u.d[k + 1] = d[k + 1];
    u.first[k + 1] = above;
    u.second[k] = T(0);
    const Real<T> own = u.d[k] == T(0) ? 0 : std::abs(u.d[k]) / scale;
    if (below == T(0) || std::abs(below) / next_scale <= own) {
      scale = next_scale;
      if (below != T(0)) {
        const T factor = below / u.d[k];
        u.d[k + 1] -= Times(factor, u.first[k]);
        Subtract(x.row(k + 1), factor, x.row(k), x.columns);
      }
    } else {
      const T factor = u.d[k] / below;
      u.d[k + 1] = u.first[k] - Times(factor, d[k + 1]);
      u.d[k] = below;
      u.first[k] = d[k + 1];
      u.second[k] = above;
      u.first[k + 1] = -Times(factor, above);
      for (int64_t c = 0; c < x.columns; ++c) {
        const T value = x(k, c);
        x(k, c) = x(k + 1, c);
        x(k + 1, c) = value - Times(factor, x(k + 1, c));
      }
      scale = std::abs(u.d[k + 1]) + std::abs(u.first[k + 1]);
    }
    if (!last)
      largest = std::max({largest, std::abs(u.d[k]), std::abs(u.first[k]), std::abs(u.second[k])});
  }
  return std::max(largest, std::abs(u.d[n - 1]));
}

}  // namespace

template <class T>
void PerturbedTridiagonalSolve<T>::Run(const Job& job) {
  const Matrix<T> x{job.out<T>(0), job.size('n'), job.size('r')};
  std::copy_n(job.in<T>(3), x.rows * x.columns, x.data);
  const Upper<T> u{job.work.Take<T>(x.rows), job.work.Take<T>(x.rows), job.work.Take<T>(x.rows)};
  const Real<T> step = std::numeric_limits<Real<T>>::epsilon() * Triangularize(job, u, x);
  for (int64_t k = x.rows - 1; k >= 0; --k) {
    if (k + 1 < x.rows) Subtract(x.row(k), u.first[k], x.row(k + 1), x.columns);
    if (k + 2 < x.rows) Subtract(x.row(k), u.second[k], x.row(k + 2), x.columns);
    T pivot = u.d[k];
    Perturb(step, pivot, x.row(k), x.columns);
    for (int64_t c = 0; c < x.columns; ++c) x(k, c) = Times(x(k, c), T(1) / pivot);
  }
}

HLO_FOR_LAPACK_TYPES(OwnTrsm);
HLO_FOR_LAPACK_TYPES(Gtsv);
HLO_FOR_LAPACK_TYPES(PerturbedTridiagonalSolve);

}  // namespace hlo::linalg
