#include "lib/linalg/targets.h"

#include <algorithm>

#include "lib/linalg/routines.h"

namespace hlo::linalg {
namespace {

template <template <class> class R>
constexpr RoutinesByType Floats() {
  return {&R<float>::Run, &R<double>::Run, &R<std::complex<float>>::Run,
          &R<std::complex<double>>::Run};
}
template <template <class> class R>
constexpr RoutinesByType Numbers() {
  RoutinesByType routines = Floats<R>();
  routines.s32 = &R<int32_t>::Run;
  routines.s64 = &R<int64_t>::Run;
  return routines;
}
constexpr RoutinesByType kNone;

// Ours are faster up to about these sizes, measured against OpenBLAS on a processor with AVX-512.
constexpr int64_t kSmallCholesky = 36, kSmallLu = 40, kSmallQr = 32, kSmallSolve = 14;

constexpr std::string_view kFloats = "sdcz", kReals = "sd", kComplexes = "cz";
constexpr std::string_view kSvd = "T[m,n] R[k] T[m,u] T[v,n] I[]";
constexpr std::string_view kDiagonals = "T[n] T[n] T[n] T[n,r]";

// clang-format off
constexpr Target kTargets[] = {
  {"lapack_?potrf_ffi", kFloats, "T[n,n]", "T[n,n] I[]", "uplo:LU", "",
   "?potrf", Floats<Potrf>(), Floats<OwnPotrf>(), kSmallCholesky},
  {"lapack_?getrf_ffi", kFloats, "T[m,n]", "T[m,n] I[k] I[]", "", "",
   "?getrf", Floats<Getrf>(), Floats<OwnGetrf>(), kSmallLu},
  {"lapack_?geqrf_ffi", kFloats, "T[m,n]", "T[m,n] T[k]", "", "",
   "?geqrf", Floats<Geqrf>(), Floats<OwnGeqrf>(), kSmallQr},
  {"lapack_?orgqr_ffi", kReals, "T[m,n] T[r]", "T[m,n]", "", "n<=m r<=n",
   "?orgqr", Floats<Orgqr>(), Floats<OwnOrgqr>(), kSmallQr},
  {"lapack_?ungqr_ffi", kComplexes, "T[m,n] T[r]", "T[m,n]", "", "n<=m r<=n",
   "?ungqr", Floats<Orgqr>(), Floats<OwnOrgqr>(), kSmallQr},
  {"lapack_?ormqr_ffi", kReals, "T[q,r] T[r] T[m,n]", "T[m,n]", "left:b transpose:b", "r<=q",
   "?ormqr", Floats<Ormqr>(), Floats<OwnOrmqr>(), kSmallQr},
  {"lapack_?unmqr_ffi", kComplexes, "T[q,r] T[r] T[m,n]", "T[m,n]", "left:b transpose:b", "r<=q",
   "?unmqr", Floats<Ormqr>(), Floats<OwnOrmqr>(), kSmallQr},
  {"lapack_?trsm_ffi", kFloats, "T[t,t] T[m,n]", "T[m,n]", "side:LR uplo:LU trans_x:NTC diag:NU", "",
   "?trsm", Floats<Trsm>(), Floats<OwnTrsm>(), kSmallSolve},
  {"lapack_?geqp3_ffi", kFloats, "T[m,n] I[n]", "T[m,n] I[n] T[k]", "", "",
   "?geqp3", Floats<Geqp3>(), kNone, 0},
  {"lapack_?gehrd_ffi", kFloats, "T[n,n]", "T[n,n] T[p] I[]", "low:i high:i", "",
   "?gehrd", Floats<Gehrd>(), kNone, 0},
  {"lapack_?sytrd_ffi", kReals, "T[n,n]", "T[n,n] R[n] R[p] T[p] I[]", "uplo:LU", "",
   "?sytrd", Floats<Sytrd>(), kNone, 0},
  {"lapack_?hetrd_ffi", kComplexes, "T[n,n]", "T[n,n] R[n] R[p] T[p] I[]", "uplo:LU", "",
   "?hetrd", Floats<Sytrd>(), kNone, 0},
  {"lapack_?gesdd_ffi", kFloats, "T[m,n]", kSvd, "mode:ASN", "",
   "?gesdd", Floats<Gesdd>(), kNone, 0},
  {"lapack_?gesvd_ffi", kFloats, "T[m,n]", kSvd, "mode:ASN", "",
   "?gesvd", Floats<Gesvd>(), kNone, 0},
  {"lapack_?syevd_ffi", kReals, "T[n,n]", "T[n,n] R[n] I[]", "mode:VN uplo:LU", "",
   "?syevd", Floats<Syevd>(), kNone, 0},
  {"lapack_?heevd_ffi", kComplexes, "T[n,n]", "T[n,n] R[n] I[]", "mode:VN uplo:LU", "",
   "?heevd", Floats<Syevd>(), kNone, 0},
  {"lapack_?geev_ffi", kReals, "T[n,n]", "T[n] T[n] C[n,n] C[n,n] I[]", "compute_left:VN compute_right:VN", "",
   "?geev", Floats<Geev>(), kNone, 0},
  {"lapack_?geev_ffi", kComplexes, "T[n,n]", "T[n] T[n,n] T[n,n] I[]", "compute_left:VN compute_right:VN", "",
   "?geev", Floats<Geev>(), kNone, 0},
  {"lapack_?gees_ffi", kReals, "T[n,n]", "T[n,n] T[n,n] T[n] T[n] I[] I[]", "mode:VN sort:N", "",
   "?gees", Floats<Gees>(), kNone, 0},
  {"lapack_?gees_ffi", kComplexes, "T[n,n]", "T[n,n] T[n,n] T[n] I[] I[]", "mode:VN sort:N", "",
   "?gees", Floats<Gees>(), kNone, 0},
  {"lapack_?gtsv_ffi", kFloats, kDiagonals, "T[n] T[n] T[n] T[n,r] I[]", "", "",
   "", kNone, Floats<Gtsv>(), 0},
  {"tridiagonal_solve_perturbed_ffi", kFloats, kDiagonals, "T[n,r]", "", "",
   "", kNone, Floats<PerturbedTridiagonalSolve>(), 0},
  {"cpu_csr_sparse_dense_ffi", "sdczil", "T[z] J[a] J[z] T[n]", "T[m]", "", "",
   "", kNone, Numbers<CsrTimesDense>(), 0},
  {"cpu_csr_sparse_dense_ffi", "sdczil", "T[z] J[a] J[z] T[n,c]", "T[m,c]", "", "",
   "", kNone, Numbers<CsrTimesDense>(), 0},
  {"Qr", kFloats, "T[m,n]", "T[m,n] T[k]", "", "",
   "?geqrf", Floats<Geqrf>(), Floats<OwnGeqrf>(), kSmallQr},
  {"ProductOfElementaryHouseholderReflectors", kReals, "T[m,n] T[r]", "T[m,n]", "", "n<=m r<=n",
   "?orgqr", Floats<Orgqr>(), Floats<OwnOrgqr>(), kSmallQr},
  {"ProductOfElementaryHouseholderReflectors", kComplexes, "T[m,n] T[r]", "T[m,n]", "", "n<=m r<=n",
   "?ungqr", Floats<Orgqr>(), Floats<OwnOrgqr>(), kSmallQr},
  {"Eigh", kReals, "T[n,n]", "T[n,n] R[n]", "=lower", "",
   "?syevd", Floats<Eigh>(), kNone, 0},
  {"Eigh", kComplexes, "T[n,n]", "T[n,n] R[n]", "=lower", "",
   "?heevd", Floats<Eigh>(), kNone, 0},
};
// clang-format on

constexpr std::pair<char, ElementType> kLetters[] = {
    {'s', ElementType::kF32},  {'d', ElementType::kF64}, {'c', ElementType::kC64},
    {'z', ElementType::kC128}, {'i', ElementType::kS32}, {'l', ElementType::kS64}};

bool Matches(const Target& target, std::string_view name) {
  const size_t letter = target.name.find('?');
  if (letter == std::string_view::npos) return target.name == name;
  return name.size() == target.name.size() &&
         name.substr(0, letter) == target.name.substr(0, letter) &&
         name.substr(letter + 1) == target.name.substr(letter + 1) &&
         target.types.find(name[letter]) != std::string_view::npos;
}

}  // namespace

absl::Span<const Target> Targets() { return kTargets; }

absl::Span<const Target> FindTarget(std::string_view name) {
  const auto matches = [name](const Target& target) { return Matches(target, name); };
  const auto first = std::find_if(std::begin(kTargets), std::end(kTargets), matches);
  const auto last = std::find_if_not(first, std::end(kTargets), matches);
  return {first, static_cast<size_t>(last - first)};
}

ElementType TypeOfLetter(char letter) {
  for (const auto& [key, type] : kLetters) {
    if (key == letter) return type;
  }
  return ElementType::kOpaque;  // no array has it
}

char TypeLetter(const Target& target, std::string_view name) {
  const size_t letter = target.name.find('?');
  return letter == std::string_view::npos ? '\0' : name[letter];
}

}  // namespace hlo::linalg
