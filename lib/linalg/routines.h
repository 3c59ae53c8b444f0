// lib/linalg/routines.h
//
// The routines behind the targets of targets.cc, for T = float, double and their complex numbers.
// `info` is LAPACK's: 0, or what went wrong. What a routine does not compute is zero.
#pragma once

#include "lib/linalg/job.h"

namespace hlo::linalg {

#define HLO_ROUTINE(Name)            \
  template <class T>                 \
  struct Name {                      \
    static void Run(const Job& job); \
  }

// Ours: they need no LAPACK, and are faster on small matrices.
HLO_ROUTINE(OwnPotrf);  // own_factors.cc
HLO_ROUTINE(OwnGetrf);
HLO_ROUTINE(OwnGeqrf);
HLO_ROUTINE(OwnOrgqr);
HLO_ROUTINE(OwnOrmqr);
HLO_ROUTINE(OwnTrsm);  // own_solves.cc
HLO_ROUTINE(Gtsv);
HLO_ROUTINE(PerturbedTridiagonalSolve);

// Those that call LAPACK, which Job::lapack is.
HLO_ROUTINE(Potrf);  // lapack_factors.cc
HLO_ROUTINE(Getrf);
HLO_ROUTINE(Geqrf);
HLO_ROUTINE(Orgqr);
HLO_ROUTINE(Ormqr);
HLO_ROUTINE(Trsm);
HLO_ROUTINE(Geqp3);
HLO_ROUTINE(Gehrd);
HLO_ROUTINE(Sytrd);
HLO_ROUTINE(Gesdd);  // lapack_spectra.cc
HLO_ROUTINE(Gesvd);
HLO_ROUTINE(Syevd);
HLO_ROUTINE(Geev);
HLO_ROUTINE(Gees);
HLO_ROUTINE(Eigh);

#undef HLO_ROUTINE

// A sparse matrix in rows (csr.cc) with indices s32 or s64; T may be an integer.
template <class T>
struct CsrTimesDense {
  static void Run(const Job& job);
};

}  // namespace hlo::linalg

// Instantiates a routine for the four types that LAPACK has.
#define HLO_FOR_LAPACK_TYPES(Name)           \
  template struct Name<float>;               \
  template struct Name<double>;              \
  template struct Name<std::complex<float>>; \
  template struct Name<std::complex<double>>
