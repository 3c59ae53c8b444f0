// Singular values, eigenvalues and Schur forms by LAPACK. Scratch sizes are those that JAX gives
// where LAPACK chooses its way by them.
#include <limits>

#include "lib/linalg/fortran.h"
#include "lib/linalg/routines.h"

namespace hlo::linalg {

struct SvdSizes {
  int m, n, least, u_columns, v_rows, lead_a, lead_v;
  explicit SvdSizes(const Job& job)
      : m(static_cast<int>(job.size('m'))),
        n(static_cast<int>(job.size('n'))),
        least(std::min(m, n)),
        u_columns(static_cast<int>(job.size('u'))),
        v_rows(static_cast<int>(job.size('v'))),
        lead_a(Leading(m)),
        lead_v(Leading(v_rows)) {}
};

namespace {

// LAPACK may run for ever on what is not finite, so that is said beforehand: `info` is the number
// of the argument that is wrong, less than 0.
template <class T>
bool IsFinite(const Job& job, int64_t count, int argument, int32_t* info) {
  const T* const a = job.in<T>(0);
  const bool finite =
      std::all_of(a, a + count, [](T x) { return std::isfinite(Re(x)) && std::isfinite(Im(x)); });
  if (!finite) *info = -argument;
  return finite;
}

// Results 0 to 4 of both routines. `call` runs one with (a, u, v, scratch, size).
template <class T, class Call>
void Decompose(const Job& job, const SvdSizes& s, Call&& call) {
  if (!IsFinite<T>(job, int64_t{s.m} * s.n, 4, job.out<int32_t>(4))) return;
  T* const a = ByColumns<T>(job, 0, s.m, s.n);
  T* const u = job.work.Take<T>(int64_t{s.m} * s.u_columns);
  T* const v = job.work.Take<T>(int64_t{s.v_rows} * s.n);
  WithScratch<T>(job, [&](T* scratch, int size) { call(a, u, v, scratch, size); });
  StoreByRows(job, 0, a, s.m, s.n);
  StoreByRows(job, 2, u, s.m, s.u_columns);
  StoreByRows(job, 3, v, s.v_rows, s.n);
}

// The vectors of a real matrix: those of a conjugate pair of eigenvalues are the real and the
// imaginary part, side by side.
template <class R>
void StoreVectors(const Job& job, int result, const R* packed, const R* imaginary, int64_t n) {
  std::complex<R>* const to = job.out<std::complex<R>>(result);
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && !std::isnan(imaginary[j]) && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R re = packed[j * n + i], im = pair ? packed[(j + 1) * n + i] : R(0);
      to[i * n + j] = {re, im};
      if (pair) to[i * n + j + 1] = {re, -im};
    }
    j += pair ? 1 : 0;
  }
}

// Eigenvectors in place of `a`, eigenvalues in `values`.
template <class T>
void SolveSymmetric(const Job& job, char mode, char uplo, T* a, Real<T>* values, int32_t* info) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const bool vectors = mode == 'V';
  const int size_i = vectors ? 3 + 5 * n : 1;
  int* const scratch_i = job.work.Take<int>(size_i);
  if constexpr (kIsComplex<T>) {
    const int size = vectors ? 2 * n + n * n : n + 1;
    const int size_r = vectors ? 1 + 5 * n + 2 * n * n : std::max(n, 1);
    CallFortran(job.lapack, &mode, &uplo, &n, a, &lead, values, job.work.Take<T>(size), &size,
                job.work.Take<Real<T>>(size_r), &size_r, scratch_i, &size_i, info, kTextLength,
                kTextLength);
  } else {
    const int size = vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
    CallFortran(job.lapack, &mode, &uplo, &n, a, &lead, values, job.work.Take<T>(size), &size,
                scratch_i, &size_i, info, kTextLength, kTextLength);
  }
}

}  // namespace

template <class T>
void Gesdd<T>::Run(const Job& job) {
  const SvdSizes s(job);
  const char mode = job.attributes.letter("mode");
  int* const integers = job.work.Take<int>(8 * s.least);
  const int64_t most = std::max(s.m, s.n), least = s.least;
  Real<T>* const reals = job.work.Take<Real<T>>(
      !kIsComplex<T> ? 1
      : mode == 'N'
          ? 7 * least
          : std::max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least));
  Decompose<T>(job, s, [&](T* a, T* u, T* v, T* scratch, int size) {
    Real<T>* const values = job.out<Real<T>>(1);
    int32_t* const info = job.out<int32_t>(4);
    if constexpr (kIsComplex<T>) {
      CallFortran(job.lapack, &mode, &s.m, &s.n, a, &s.lead_a, values, u, &s.lead_a, v, &s.lead_v,
                  scratch, &size, reals, integers, info, kTextLength);
    } else {
      CallFortran(job.lapack, &mode, &s.m, &s.n, a, &s.lead_a, values, u, &s.lead_a, v, &s.lead_v,
                  scratch, &size, integers, info, kTextLength);
    }
  });
}

template <class T>
void Gesvd<T>::Run(const Job& job) {
  const SvdSizes s(job);
  const char mode = job.attributes.letter("mode");
  Real<T>* const reals = job.work.Take<Real<T>>(5 * s.least);
  Decompose<T>(job, s, [&](T* a, T* u, T* v, T* scratch, int size) {
    Real<T>* const values = job.out<Real<T>>(1);
    int32_t* const info = job.out<int32_t>(4);
    if constexpr (kIsComplex<T>) {
      CallFortran(job.lapack, &mode, &mode, &s.m, &s.n, a, &s.lead_a, values, u, &s.lead_a, v,
                  &s.lead_v, scratch, &size, reals, info, kTextLength, kTextLength);
    } else {
      CallFortran(job.lapack, &mode, &mode, &s.m, &s.n, a, &s.lead_a, values, u, &s.lead_a, v,
                  &s.lead_v, scratch, &size, info, kTextLength, kTextLength);
    }
  });
}

template <class T>
void Syevd<T>::Run(const Job& job) {
  const int64_t n = job.size('n');
  if (!IsFinite<T>(job, n * n, 4, job.out<int32_t>(2))) return;
  T* const a = ByColumns<T>(job, 0, n, n);
  SolveSymmetric(job, job.attributes.letter("mode"), job.attributes.letter("uplo"), a,
                 job.out<Real<T>>(1), job.out<int32_t>(2));
  StoreByRows(job, 0, a, n, n);
}

template <class T>
void Eigh<T>::Run(const Job& job) {
  const int64_t n = job.size('n');
  T* const a = ByColumns<T>(job, 0, n, n);
  Real<T>* const values = job.out<Real<T>>(1);
  int32_t info = 0;
  if (IsFinite<T>(job, n * n, 4, &info))
    SolveSymmetric(job, 'V', job.attributes["lower"] != 0 ? 'L' : 'U', a, values, &info);
  if (info != 0) {
    std::fill_n(a, n * n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
    std::fill_n(values, n, std::numeric_limits<Real<T>>::quiet_NaN());
  }
  StoreByRows(job, 0, a, n, n);
}

template <class T>
void Geev<T>::Run(const Job& job) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const char left = job.attributes.letter("compute_left");
  const char right = job.attributes.letter("compute_right");
  int32_t* const info = job.out<int32_t>(kIsComplex<T> ? 3 : 4);
  if (!IsFinite<T>(job, int64_t{n} * n, 4, info)) return;
  T* const a = ByColumns<T>(job, 0, n, n);
  T* const vl = job.work.Take<T>(int64_t{n} * n);
  T* const vr = job.work.Take<T>(int64_t{n} * n);
  WithScratch<T>(job, [&](T* scratch, int size) {
    if constexpr (kIsComplex<T>) {
      CallFortran(job.lapack, &left, &right, &n, a, &lead, job.out<T>(0), vl, &lead, vr, &lead,
                  scratch, &size, job.work.Take<Real<T>>(2 * n), info, kTextLength, kTextLength);
    } else {
      CallFortran(job.lapack, &left, &right, &n, a, &lead, job.out<T>(0), job.out<T>(1), vl, &lead,
                  vr, &lead, scratch, &size, info, kTextLength, kTextLength);
    }
  });
  if constexpr (kIsComplex<T>) {
    StoreByRows(job, 1, vl, n, n);
    StoreByRows(job, 2, vr, n, n);
  } else {
    if (*info != 0) return;
    StoreVectors(job, 2, vl, job.out<T>(1), n);
    StoreVectors(job, 3, vr, job.out<T>(1), n);
  }
}

template <class T>
void Gees<T>::Run(const Job& job) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const char mode = job.attributes.letter("mode"), sort = 'N';
  void* const no_choice = nullptr;
  if (!IsFinite<T>(job, int64_t{n} * n, 5, job.out<int32_t>(kIsComplex<T> ? 4 : 5))) return;
  T* const a = ByColumns<T>(job, 0, n, n);
  T* const vectors = job.work.Take<T>(int64_t{n} * n);
  int* const chosen = job.work.Take<int>(n);
  WithScratch<T>(job, [&](T* scratch, int size) {
    if constexpr (kIsComplex<T>) {
      CallFortran(job.lapack, &mode, &sort, no_choice, &n, a, &lead, job.out<int32_t>(3),
                  job.out<T>(2), vectors, &lead, scratch, &size, job.work.Take<Real<T>>(n), chosen,
                  job.out<int32_t>(4), kTextLength, kTextLength);
    } else {
      CallFortran(job.lapack, &mode, &sort, no_choice, &n, a, &lead, job.out<int32_t>(4),
                  job.out<T>(2), job.out<T>(3), vectors, &lead, scratch, &size, chosen,
                  job.out<int32_t>(5), kTextLength, kTextLength);
    }
  });
  StoreByRows(job, 0, a, n, n);
  StoreByRows(job, 1, vectors, n, n);
}

HLO_FOR_LAPACK_TYPES(Gesdd);
HLO_FOR_LAPACK_TYPES(Gesvd);
HLO_FOR_LAPACK_TYPES(Syevd);
HLO_FOR_LAPACK_TYPES(Eigh);
HLO_FOR_LAPACK_TYPES(Geev);
HLO_FOR_LAPACK_TYPES(Gees);

}  // namespace hlo::linalg
