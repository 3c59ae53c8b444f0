#include "backends/cpu/library/linalg.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/library/linalg_common.h"
#include "backends/cpu/library/test_scratch.h"

namespace hlo::cpu {
namespace {

using E = ElementType;
using LinalgValue = std::complex<double>;

Host NativeHost() {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  return *host;
}

double Noise(int64_t i) { return std::sin(static_cast<double>(i) * 12.9898 + 1); }

template <class T>
T Make(LinalgValue x) {
  if constexpr (kIsComplexType<T>) {
    using Part = typename T::value_type;
    return {static_cast<Part>(x.real()), static_cast<Part>(x.imag())};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x.real());
  } else {
    return T::FromFloat(static_cast<float>(x.real()));
  }
}

template <class T>
LinalgValue LinalgValueOf(T x) {
  if constexpr (kIsComplexType<T>) {
    return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(x.ToFloat());
  }
}

// A positive definite matrix: noise on a strong diagonal, Hermitian.
template <class T>
std::vector<T> Positive(int64_t batch, int64_t n) {
  std::vector<T> a(static_cast<size_t>(batch * n * n));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const double imaginary = kIsComplexType<T> && i != j ? Noise(i * 3 + j * 7) : 0;
        const LinalgValue x(Noise(b + i * n + j) + (i == j ? 2.0 * static_cast<double>(n) : 0),
                            imaginary);
        a[static_cast<size_t>((b * n + i) * n + j)] = Make<T>(x);
        a[static_cast<size_t>((b * n + j) * n + i)] = Make<T>(std::conj(x));
      }
    }
  }
  return a;
}

template <class T>
void CheckCholesky(ElementType type, int64_t batch, int64_t n, bool lower, double tolerance) {
  std::vector<T> a = Positive<T>(batch, n);
  const std::vector<T> original = a;
  // The other triangle must not be read.
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (lower ? j > i : j < i)
          a[static_cast<size_t>((b * n + i) * n + j)] = Make<T>(LinalgValue(77, 77));
      }
    }
  }
  CholeskySpec spec;
  spec.type = type;
  spec.batch = batch;
  spec.n = n;
  spec.lower = lower;
  spec.threads = 2;
  const auto cholesky = MakeCholesky(spec, NativeHost());
  REQUIRE(cholesky.ok());
  ThreadPool pool(2);
  Scratch scratch((*cholesky)->scratch_bytes());
  std::vector<T> l(a.size());
  (*cholesky)->Run(a.data(), nullptr, l.data(), scratch.data, pool);
  double worst = 0;
  int64_t dirty = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const auto at = [&](int64_t i, int64_t j) {  // of the lower factor
      const LinalgValue x =
          LinalgValueOf(l[static_cast<size_t>((b * n + (lower ? i : j)) * n + (lower ? j : i))]);
      return lower ? x : std::conj(x);
    };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (j > i) dirty += at(i, j) != LinalgValue(0);
        LinalgValue sum = 0;
        for (int64_t k = 0; k <= std::min(i, j); ++k) sum += at(i, k) * std::conj(at(j, k));
        worst = std::max(
            worst,
            std::abs(sum - LinalgValueOf(original[static_cast<size_t>((b * n + i) * n + j)])));
      }
    }
  }
  CAPTURE(std::string(Text(type)), batch, n, lower, worst);
  CHECK(dirty == 0);
  CHECK(worst <= tolerance * 2 * static_cast<double>(n));
}

TEST_CASE("the factor times its adjoint is the matrix", "[cpu][linalg]") {
  for (const bool lower : {true, false}) {
    for (const int64_t n : {0, 1, 2, 5, 64, 65, 150}) {
      CheckCholesky<float>(E::kF32, 1, n, lower, 1e-6);
      CheckCholesky<double>(E::kF64, 3, n, lower, 1e-14);
      CheckCholesky<std::complex<float>>(E::kC64, 1, n, lower, 1e-6);
      CheckCholesky<std::complex<double>>(E::kC128, 1, n, lower, 1e-14);
    }
    CheckCholesky<BF16>(E::kBF16, 2, 20, lower, 0.01);
  }
}

std::vector<float> CholeskyOf(std::vector<float> a, int64_t n) {
  CholeskySpec spec;
  spec.n = n;
  const auto cholesky = MakeCholesky(spec, NativeHost());
  REQUIRE(cholesky.ok());
  ThreadPool pool(1);
  Scratch scratch((*cholesky)->scratch_bytes());
  (*cholesky)->Run(a.data(), nullptr, a.data(), scratch.data, pool);
  return a;
}

TEST_CASE("negative and zero pivots", "[cpu][linalg]") {
  for (const float x : CholeskyOf({1, 0, 0, -4}, 2)) CHECK(std::isnan(x));
  for (const float x : CholeskyOf({0, 0, 0, 1}, 2)) CHECK(std::isnan(x));
  const std::vector<float> singular = CholeskyOf({1, 1, 1, 1}, 2);
  CHECK(singular[0] == 1);
  CHECK(singular[1] == 0);
  CHECK(singular[2] == 1);
  CHECK(std::isnan(singular[3]));
}

template <class T>
void CheckSolve(ElementType type, TriangularSolveSpec spec, double tolerance) {
  spec.type = type;
  spec.threads = 2;
  const int64_t n = spec.left ? spec.rows : spec.columns;
  const int64_t count = spec.rows * spec.columns;
  std::vector<T> a(static_cast<size_t>(spec.batch * n * n)),
      b(static_cast<size_t>(spec.batch * count)), x(b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool diagonal = at % (n * n) / n == at % n;
    const double scale = 1.0 / static_cast<double>(n);
    a[i] = Make<T>(LinalgValue(Noise(at) * scale + (diagonal ? 2 : 0), Noise(at + 5) * scale));
  }
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = Make<T>(LinalgValue(Noise(static_cast<int64_t>(i) * 3), 0.5));
  const auto solve = MakeTriangularSolve(spec, NativeHost());
  REQUIRE(solve.ok());
  ThreadPool pool(2);
  Scratch scratch((*solve)->scratch_bytes());
  (*solve)->Run(a.data(), b.data(), x.data(), scratch.data, pool);

  const auto coefficient = [&](int64_t batch, int64_t i, int64_t j) {  // of op(a)
    if (spec.transposition != Transposition::kNone) std::swap(i, j);
    if (i == j && spec.unit_diagonal) return LinalgValue(1);
    if (spec.lower ? j > i : j < i) return LinalgValue(0);
    const LinalgValue v = LinalgValueOf(a[static_cast<size_t>((batch * n + i) * n + j)]);
    return spec.transposition == Transposition::kAdjoint ? std::conj(v) : v;
  };
  double worst = 0;
  for (int64_t batch = 0; batch < spec.batch; ++batch) {
    const auto unknown = [&](int64_t i, int64_t j) {
      return LinalgValueOf(x[static_cast<size_t>((batch * spec.rows + i) * spec.columns + j)]);
    };
    for (int64_t i = 0; i < spec.rows; ++i) {
      for (int64_t j = 0; j < spec.columns; ++j) {
        LinalgValue sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          sum += spec.left ? coefficient(batch, i, k) * unknown(k, j)
                           : unknown(i, k) * coefficient(batch, k, j);
        }
        worst = std::max(
            worst,
            std::abs(
                sum -
                LinalgValueOf(b[static_cast<size_t>((batch * spec.rows + i) * spec.columns + j)])));
      }
    }
  }
  CAPTURE(std::string(Text(type)), spec.rows, spec.columns, spec.left, spec.lower,
          spec.unit_diagonal, static_cast<int>(spec.transposition), worst);
  CHECK(worst <= tolerance);
}

TEST_CASE("solutions of triangular systems solve them", "[cpu][linalg]") {
  for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
    for (const Transposition op :
         {Transposition::kNone, Transposition::kTranspose, Transposition::kAdjoint}) {
      for (const auto& [rows, columns] :
           {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {70, 150}, {130, 1}, {0, 4}}) {
        TriangularSolveSpec spec;
        spec.batch = rows < 10 ? 3 : 1;
        spec.rows = rows;
        spec.columns = columns;
        spec.left = (variant & 1) != 0;
        spec.lower = (variant & 2) != 0;
        spec.unit_diagonal = (variant & 4) != 0;
        spec.transposition = op;
        CheckSolve<float>(E::kF32, spec, 1e-5);
        if (rows > 100 || op != Transposition::kAdjoint) CheckSolve<double>(E::kF64, spec, 1e-13);
        if (rows < 10) CheckSolve<std::complex<double>>(E::kC128, spec, 1e-13);
      }
    }
  }
}

TEST_CASE("integers have no linear algebra", "[cpu][linalg]") {
  CholeskySpec spec;
  spec.type = E::kS32;
  spec.n = 2;
  CHECK(MakeCholesky(spec, NativeHost()).status().code() == absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace hlo::cpu
