// Factors by rows, in the type of the matrix: inner loops run along a row, so that they become
// vector instructions.
#include <algorithm>
#include <limits>

#include "lib/linalg/matrix.h"
#include "lib/linalg/routines.h"

namespace hlo::linalg {
namespace {

// row -= factor * other, from column `from` to `to`.
template <class T>
void Subtract(T* row, T factor, const T* other, int64_t from, int64_t to) {
  for (int64_t k = from; k < to; ++k) row[k] -= Times(factor, other[k]);
}

// The length of a vector without overflow on the way.
template <class T>
Real<T> Length(Real<T> first, const T* rest, int64_t stride, int64_t count) {
  if constexpr (sizeof(Real<T>) < sizeof(double)) {
    double sum = double{first} * first;
    for (int64_t i = 0; i < count; ++i) {
      const double re = Re(rest[i * stride]), im = Im(rest[i * stride]);
      sum += re * re + im * im;
    }
    return static_cast<Real<T>>(std::sqrt(sum));
  } else {
    Real<T> largest = std::abs(first);
    for (int64_t i = 0; i < count; ++i)
      largest = std::max({largest, std::abs(Re(rest[i * stride])), std::abs(Im(rest[i * stride]))});
    if (largest == 0 || !(largest <= std::numeric_limits<Real<T>>::max())) largest = 1;
    Real<T> sum = first / largest * (first / largest);
    for (int64_t i = 0; i < count; ++i) {
      const Real<T> re = Re(rest[i * stride]) / largest, im = Im(rest[i * stride]) / largest;
      sum += re * re + im * im;
    }
    return largest * std::sqrt(sum);
  }
}

// The reflectors of a factorization: column j of `vectors` below row j, and 1 in row j.
template <class T>
struct Reflectors {
  Matrix<const T> vectors;
  const T* taus;
  T at(int64_t i, int64_t j) const { return i == j ? T(1) : vectors(i, j); }
};

// a = (I - tau v v^H) a in the columns [from, to), with v the reflector j.
template <class T>
void ApplyLeft(const Reflectors<T>& q, int64_t j, T tau, Matrix<T> a, int64_t from, int64_t to,
               T* sums) {
  if (tau == T(0)) return;
  std::fill(sums + from, sums + to, T(0));
  for (int64_t i = j; i < a.rows; ++i) {
    const T factor = Conj(q.at(i, j));
    for (int64_t k = from; k < to; ++k) sums[k] += Times(factor, a(i, k));
  }
  for (int64_t i = j; i < a.rows; ++i) Subtract(a.row(i), Times(tau, q.at(i, j)), sums, from, to);
}

// a = a (I - tau v v^H).
template <class T>
void ApplyRight(const Reflectors<T>& q, int64_t j, T tau, Matrix<T> a) {
  if (tau == T(0)) return;
  for (int64_t i = 0; i < a.rows; ++i) {
    T sum(0);
    for (int64_t k = j; k < a.columns; ++k) sum += Times(a(i, k), q.at(k, j));
    sum = Times(sum, tau);
    for (int64_t k = j; k < a.columns; ++k) a(i, k) -= Times(sum, Conj(q.at(k, j)));
  }
}

// The reflector that takes column j below the diagonal away; returns tau, leaves the reflector and
// the new diagonal element in the column.
template <class T>
T MakeReflector(Matrix<T> a, int64_t j) {
  const T alpha = a(j, j);
  const int64_t below = a.rows - j - 1;
  const T* rest = below == 0 ? nullptr : &a(j + 1, j);
  bool is_zero = true;
  for (int64_t i = 0; i < below; ++i) is_zero = is_zero && rest[i * a.columns] == T(0);
  if (is_zero && Im(alpha) == 0) return T(0);
  const Real<T> length = std::hypot(Length(Re(alpha), rest, a.columns, below), Im(alpha));
  const Real<T> beta = std::signbit(Re(alpha)) ? length : -length;
  T tau = (T(beta) - alpha) / beta;
  const Divisor<T> divisor(alpha - T(beta));
  for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) = divisor.Divide(a(i, j));
  a(j, j) = T(beta);
  return tau;
}

template <class T>
Matrix<T> CopyTo(const Job& job, int operand, int result, int64_t rows, int64_t columns) {
  T* const to = job.out<T>(result);
  std::copy_n(job.in<T>(operand), rows * columns, to);
  return {to, rows, columns};
}

// a = L L^H in the lower triangle. Returns the number (from 1) of the first leading minor that is
// not positive, else 0. What is no number is taken on, as OpenBLAS does.
template <class T>
int32_t FactorLower(Matrix<T> a) {
  for (int64_t j = 0; j < a.rows; ++j) {
    T* const row = a.row(j);
    Real<T> pivot = Re(row[j]);
    for (int64_t k = 0; k < j; ++k) pivot -= Re(row[k]) * Re(row[k]) + Im(row[k]) * Im(row[k]);
    if (pivot <= 0) {
      row[j] = T(pivot);
      return static_cast<int32_t>(j + 1);
    }
    const Real<T> root = std::sqrt(pivot);
    row[j] = T(root);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T value = a(i, j);
      for (int64_t k = 0; k < j; ++k) value -= Times(a(i, k), Conj(row[k]));
      a(i, j) = value / root;
    }
  }
  return 0;
}

// a = U^H U in the upper triangle.
template <class T>
int32_t FactorUpper(Matrix<T> a) {
  for (int64_t j = 0; j < a.rows; ++j) {
    T* const row = a.row(j);
    const Real<T> pivot = Re(row[j]);
    if (pivot <= 0) return static_cast<int32_t>(j + 1);
    const Real<T> root = std::sqrt(pivot);
    row[j] = T(root);
    for (int64_t k = j + 1; k < a.columns; ++k) row[k] /= root;
    for (int64_t i = j + 1; i < a.rows; ++i) Subtract(a.row(i), Conj(row[i]), row, i, a.columns);
  }
  return 0;
}

}  // namespace

template <class T>
void OwnPotrf<T>::Run(const Job& job) {
  const int64_t n = job.size('n');
  const Matrix<T> a = CopyTo<T>(job, 0, 0, n, n);
  *job.out<int32_t>(1) = job.attributes.letter("uplo") == 'L' ? FactorLower(a) : FactorUpper(a);
}

template <class T>
void OwnGetrf<T>::Run(const Job& job) {
  const Matrix<T> a = CopyTo<T>(job, 0, 0, job.size('m'), job.size('n'));
  int32_t* const pivots = job.out<int32_t>(1);
  int32_t info = 0;
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (Size1(a(i, j)) > Size1(a(pivot, j))) pivot = i;
    }
    pivots[j] = static_cast<int32_t>(pivot + 1);
    if (a(pivot, j) == T(0)) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    if (pivot != j) std::swap_ranges(a.row(j), a.row(j) + a.columns, a.row(pivot));
    const Divisor<T> divisor(a(j, j));
    for (int64_t i = j + 1; i < a.rows; ++i) {
      const T factor = a(i, j) = divisor.Divide(a(i, j));
      Subtract(a.row(i), factor, a.row(j), j + 1, a.columns);
    }
  }
  *job.out<int32_t>(2) = info;
}

template <class T>
void OwnGeqrf<T>::Run(const Job& job) {
  const Matrix<T> a = CopyTo<T>(job, 0, 0, job.size('m'), job.size('n'));
  T* const taus = job.out<T>(1);
  T* const sums = job.work.Take<T>(a.columns);
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    taus[j] = MakeReflector(a, j);
    const Reflectors<T> q{{a.data, a.rows, a.columns}, taus};
    ApplyLeft(q, j, Conj(taus[j]), a, j + 1, a.columns, sums);
  }
}

template <class T>
void OwnOrgqr<T>::Run(const Job& job) {
  const Matrix<T> result{job.out<T>(0), job.size('m'), job.size('n')};
  const Reflectors<T> q{{job.in<T>(0), result.rows, result.columns}, job.in<T>(1)};
  T* const sums = job.work.Take<T>(result.columns);
  std::fill_n(result.data, result.rows * result.columns, T(0));
  for (int64_t j = 0; j < std::min(result.rows, result.columns); ++j) result(j, j) = T(1);
  // Columns before j are those of the identity still.
  for (int64_t j = job.size('r'); j-- > 0;)
    ApplyLeft(q, j, q.taus[j], result, j, result.columns, sums);
}

template <class T>
void OwnOrmqr<T>::Run(const Job& job) {
  const int64_t count = job.size('r');
  const Matrix<T> c = CopyTo<T>(job, 2, 0, job.size('m'), job.size('n'));
  const Reflectors<T> q{{job.in<T>(0), job.size('q'), count}, job.in<T>(1)};
  const bool left = job.attributes["left"] != 0, transposed = job.attributes["transpose"] != 0;
  T* const sums = job.work.Take<T>(c.columns);
  for (int64_t s = 0; s < count; ++s) {
    const int64_t j = left == transposed ? s : count - 1 - s;
    const T tau = transposed ? Conj(q.taus[j]) : q.taus[j];
    if (left) {
      ApplyLeft(q, j, tau, c, 0, c.columns, sums);
    } else {
      ApplyRight(q, j, tau, c);
    }
  }
}

HLO_FOR_LAPACK_TYPES(OwnPotrf);
HLO_FOR_LAPACK_TYPES(OwnGetrf);
HLO_FOR_LAPACK_TYPES(OwnGeqrf);
HLO_FOR_LAPACK_TYPES(OwnOrgqr);
HLO_FOR_LAPACK_TYPES(OwnOrmqr);

}  // namespace hlo::linalg
