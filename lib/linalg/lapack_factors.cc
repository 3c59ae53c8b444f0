// Factors by LAPACK.
#include "lib/linalg/fortran.h"
#include "lib/linalg/routines.h"

namespace hlo::linalg {

// A row-major matrix is its transpose by columns. That has the transposed factor in the other
// triangle, so nothing needs to be moved.
template <class T>
void Potrf<T>::Run(const Job& job) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const char uplo = job.attributes.letter("uplo") == 'L' ? 'U' : 'L';
  std::copy_n(job.in<T>(0), int64_t{n} * n, job.out<T>(0));
  CallFortran(job.lapack, &uplo, &n, job.out<T>(0), &lead, job.out<int32_t>(1), kTextLength);
}

// Likewise op(a) x = b is x^T op(a)^T = b^T.
template <class T>
void Trsm<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const char side = job.attributes.letter("side") == 'L' ? 'R' : 'L';
  const char uplo = job.attributes.letter("uplo") == 'L' ? 'U' : 'L';
  const char transposition = job.attributes.letter("trans_x");
  const char diagonal = job.attributes.letter("diag");
  const T one(1);
  const int lead_a = Leading(job.size('t')), lead_b = Leading(n);
  std::copy_n(job.in<T>(1), int64_t{m} * n, job.out<T>(0));
  CallFortran(job.lapack, &side, &uplo, &transposition, &diagonal, &n, &m, &one, job.in<T>(0),
              &lead_a, job.out<T>(0), &lead_b, kTextLength, kTextLength, kTextLength, kTextLength);
}

template <class T>
void Getrf<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const int lead = Leading(m);
  T* const a = ByColumns<T>(job, 0, m, n);
  CallFortran(job.lapack, &m, &n, a, &lead, job.out<int32_t>(1), job.out<int32_t>(2));
  StoreByRows(job, 0, a, m, n);
}

template <class T>
void Geqrf<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const int lead = Leading(m);
  T* const a = ByColumns<T>(job, 0, m, n);
  int info = 0;
  WithScratch<T>(job, [&](T* scratch, int size) {
    CallFortran(job.lapack, &m, &n, a, &lead, job.out<T>(1), scratch, &size, &info);
  });
  StoreByRows(job, 0, a, m, n);
}

template <class T>
void Orgqr<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const int count = static_cast<int>(job.size('r')), lead = Leading(m);
  T* const a = ByColumns<T>(job, 0, m, n);
  int info = 0;
  WithScratch<T>(job, [&](T* scratch, int size) {
    CallFortran(job.lapack, &m, &n, &count, a, &lead, job.in<T>(1), scratch, &size, &info);
  });
  StoreByRows(job, 0, a, m, n);
}

template <class T>
void Ormqr<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const int count = static_cast<int>(job.size('r'));
  const int lead_q = Leading(job.size('q')), lead_c = Leading(m);
  const char side = job.attributes["left"] != 0 ? 'L' : 'R';
  const char transposition = job.attributes["transpose"] == 0 ? 'N' : kIsComplex<T> ? 'C' : 'T';
  const T* const q = ByColumns<T>(job, 0, job.size('q'), count);
  T* const c = ByColumns<T>(job, 2, m, n);
  int info = 0;
  WithScratch<T>(job, [&](T* scratch, int size) {
    CallFortran(job.lapack, &side, &transposition, &m, &n, &count, q, &lead_q, job.in<T>(1), c,
                &lead_c, scratch, &size, &info, kTextLength, kTextLength);
  });
  StoreByRows(job, 0, c, m, n);
}

template <class T>
void Geqp3<T>::Run(const Job& job) {
  const int m = static_cast<int>(job.size('m')), n = static_cast<int>(job.size('n'));
  const int lead = Leading(m);
  T* const a = ByColumns<T>(job, 0, m, n);
  int32_t* const pivots = job.out<int32_t>(1);
  std::copy_n(job.in<int32_t>(1), n, pivots);
  Real<T>* const norms = job.work.Take<Real<T>>(2 * n);
  int info = 0;
  WithScratch<T>(job, [&](T* scratch, int size) {
    if constexpr (kIsComplex<T>) {
      CallFortran(job.lapack, &m, &n, a, &lead, pivots, job.out<T>(2), scratch, &size, norms,
                  &info);
    } else {
      CallFortran(job.lapack, &m, &n, a, &lead, pivots, job.out<T>(2), scratch, &size, &info);
    }
  });
  StoreByRows(job, 0, a, m, n);
}

template <class T>
void Gehrd<T>::Run(const Job& job) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const int low = static_cast<int>(job.attributes["low"]);
  const int high = static_cast<int>(job.attributes["high"]);
  T* const a = ByColumns<T>(job, 0, n, n);
  T* const taus = job.work.Take<T>(n);
  WithScratch<T>(job, [&](T* scratch, int size) {
    CallFortran(job.lapack, &n, &low, &high, a, &lead, taus, scratch, &size, job.out<int32_t>(2));
  });
  StoreByRows(job, 0, a, n, n);
  std::copy_n(taus, job.size('p'), job.out<T>(1));
}

template <class T>
void Sytrd<T>::Run(const Job& job) {
  const int n = static_cast<int>(job.size('n')), lead = Leading(n);
  const char uplo = job.attributes.letter("uplo");
  T* const a = ByColumns<T>(job, 0, n, n);
  WithScratch<T>(job, [&](T* scratch, int size) {
    CallFortran(job.lapack, &uplo, &n, a, &lead, job.out<Real<T>>(1), job.out<Real<T>>(2),
                job.out<T>(3), scratch, &size, job.out<int32_t>(4), kTextLength);
  });
  StoreByRows(job, 0, a, n, n);
}

HLO_FOR_LAPACK_TYPES(Potrf);
HLO_FOR_LAPACK_TYPES(Trsm);
HLO_FOR_LAPACK_TYPES(Getrf);
HLO_FOR_LAPACK_TYPES(Geqrf);
HLO_FOR_LAPACK_TYPES(Orgqr);
HLO_FOR_LAPACK_TYPES(Ormqr);
HLO_FOR_LAPACK_TYPES(Geqp3);
HLO_FOR_LAPACK_TYPES(Gehrd);
HLO_FOR_LAPACK_TYPES(Sytrd);

}  // namespace hlo::linalg
