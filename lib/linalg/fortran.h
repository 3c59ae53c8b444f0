// lib/linalg/fortran.h
//
// Calling LAPACK: everything by reference, matrices column by column, and after the arguments the
// lengths of those that are text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lib/linalg/job.h"
#include "lib/linalg/matrix.h"

namespace hlo::linalg {

inline constexpr size_t kTextLength = 1;

template <class... Arguments>
void CallFortran(const void* routine, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(const_cast<void*>(routine))(arguments...);
}

// A leading dimension is never zero.
inline int Leading(int64_t rows) { return static_cast<int>(std::max<int64_t>(rows, 1)); }

// A copy of an operand by columns.
template <class T>
T* ByColumns(const Job& job, int operand, int64_t rows, int64_t columns) {
  T* const to = job.work.Take<T>(rows * columns);
  Transpose(job.in<T>(operand), rows, columns, to);
  return to;
}

// Stores a matrix that is held by columns as result.
template <class T>
void StoreByRows(const Job& job, int result, const T* from, int64_t rows, int64_t columns) {
  Transpose(from, columns, rows, job.out<T>(result));
}

// Runs `call(work, size)` with the scratch memory that LAPACK wants, which it tells when asked with
// size -1.
template <class T, class Call>
void WithScratch(const Job& job, Call&& call) {
  if (job.work.lapack_size == 0) {
    T wish(0);
    call(&wish, -1);
    // Told as a number of the type, which may have rounded it down.
    const double size = std::ceil(double{Re(wish)} * (1 + std::numeric_limits<Real<T>>::epsilon()));
    job.work.lapack_size =
        static_cast<int>(std::clamp<double>(size, 1, std::numeric_limits<int>::max()));
  }
  call(job.work.Take<T>(job.work.lapack_size), job.work.lapack_size);
}

}  // namespace hlo::linalg
