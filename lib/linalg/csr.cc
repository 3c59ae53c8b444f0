// A sparse matrix by rows times a dense one. The second type is that of the indices, which the
// call's sizes tell: 'i' is their width in bytes.
#include <algorithm>

#include "lib/linalg/matrix.h"
#include "lib/linalg/routines.h"

namespace hlo::linalg {
namespace {

// Entries beyond the arrays are left out, as are columns beyond the dense matrix.
template <class T, class Index>
void Multiply(const Job& job) {
  const int64_t columns = job.size('n'), width = job.size('c'), entries = job.size('z');
  const T* values = job.in<T>(0);
  const Index* starts = job.in<Index>(1);
  const Index* places = job.in<Index>(2);
  const T* dense = job.in<T>(3);
  for (int64_t i = 0; i < job.size('m'); ++i) {
    T* const row = job.out<T>(0) + i * width;
    std::fill_n(row, width, T(0));
    const int64_t end = std::min<int64_t>(starts[i + 1], entries);
    for (int64_t e = std::max<int64_t>(starts[i], 0); e < end; ++e) {
      const int64_t column = places[e];
      if (column < 0 || column >= columns) continue;
      for (int64_t k = 0; k < width; ++k) row[k] += Times(values[e], dense[column * width + k]);
    }
  }
}

}  // namespace

template <class T>
void CsrTimesDense<T>::Run(const Job& job) {
  job.size('i') == 8 ? Multiply<T, int64_t>(job) : Multiply<T, int32_t>(job);
}

HLO_FOR_LAPACK_TYPES(CsrTimesDense);
template struct CsrTimesDense<int32_t>;
template struct CsrTimesDense<int64_t>;

}  // namespace hlo::linalg
