// What the routines promise of their results, and what is said of wrong calls.
#include "lib/linalg/call.h"

#include <catch2/catch.hpp>
#include <complex>
#include <random>

#include "lib/ir/module.h"
#include "lib/linalg/fortran.h"
#include "lib/linalg/lapack_library.h"
#include "lib/linalg/targets.h"
#include "lib/ops/attrs.h"
#include "lib/support/strings.h"
#include "parser/parser.h"

namespace hlo::linalg {
namespace {

using Catch::Contains;

template <class T>
constexpr char kLetter = std::is_same_v<T, float>    ? 's'
                         : std::is_same_v<T, double> ? 'd'
                         : sizeof(T) == 8            ? 'c'
                                                     : 'z';
template <class T>
std::string_view TextOf() {
  return Text(TypeOfLetter(kLetter<T>));
}
template <class T>
Real<T> Tolerance() {
  return std::numeric_limits<Real<T>>::epsilon() * 500;
}

// A batch of matrices, each of them rows x columns.
template <class T>
struct Batch {
  int64_t count, rows, columns;
  std::vector<T> values = std::vector<T>(static_cast<size_t>(count * rows * columns));
  T& at(int64_t b, int64_t i, int64_t j) {
    return values[static_cast<size_t>((b * rows + i) * columns + j)];
  }
  std::string Shape() const {
    return fmt::format("{}[{},{},{}]", TextOf<T>(), count, rows, columns);
  }
};

template <class T>
Batch<T> Random(int64_t count, int64_t rows, int64_t columns) {
  Batch<T> batch{count, rows, columns};
  std::mt19937 engine(static_cast<uint32_t>(7 + rows * 31 + columns));
  std::uniform_real_distribution<double> draw(-1, 1);
  for (T& value : batch.values) {
    if constexpr (kIsComplex<T>) {
      value = T(static_cast<Real<T>>(draw(engine)), static_cast<Real<T>>(draw(engine)));
    } else {
      value = static_cast<T>(draw(engine));
    }
  }
  return batch;
}

template <class T>
Batch<T> Product(Batch<T> a, Batch<T> b, bool adjoint_of_b = false) {
  Batch<T> c{a.count, a.rows, adjoint_of_b ? b.rows : b.columns};
  for (int64_t n = 0; n < c.count; ++n) {
    for (int64_t i = 0; i < c.rows; ++i) {
      for (int64_t j = 0; j < c.columns; ++j) {
        for (int64_t k = 0; k < a.columns; ++k)
          c.at(n, i, j) += a.at(n, i, k) * (adjoint_of_b ? Conj(b.at(n, j, k)) : b.at(n, k, j));
      }
    }
  }
  return c;
}

// Columns times the values of a vector for each matrix.
template <class T, class V>
Batch<T> Scaled(Batch<T> a, const std::vector<V>& factors) {
  const size_t each = factors.size() / static_cast<size_t>(a.count);
  for (int64_t n = 0; n < a.count; ++n) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j)
        a.at(n, i, j) *= T(factors[static_cast<size_t>(n) * each + static_cast<size_t>(j)]);
    }
  }
  return a;
}

template <class T>
Batch<T> Hermitian(Batch<T> a) {
  Batch<T> sum = a;
  for (int64_t n = 0; n < a.count; ++n) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.rows; ++j) sum.at(n, i, j) += Conj(a.at(n, j, i));
    }
  }
  return sum;
}

template <class T>
void CheckClose(const Batch<T>& a, const Batch<T>& b) {
  REQUIRE(a.values.size() == b.values.size());
  Real<T> largest = 0, size = 1;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
    size = std::max(size, std::abs(a.values[i]));
  }
  CHECK(largest <= Tolerance<T>() * size * static_cast<Real<T>>(1 + a.columns));
}

std::unique_ptr<Module> CallOf(std::string_view target, const std::vector<std::string>& operands,
                               std::string_view result, std::string_view config) {
  std::string text = "HloModule m\n\nENTRY e {\n";
  std::vector<std::string> names;
  for (const std::string& operand : operands) {
    names.push_back(fmt::format("x{}", names.size()));
    text += fmt::format("  {} = {} parameter({})\n", names.back(), operand, names.size() - 1);
  }
  text += fmt::format("  ROOT r = {} custom-call({}), custom_call_target=\"{}\", ", result,
                      Join(names, ", "), target);
  text += fmt::format("api_version=API_VERSION_TYPED_FFI, backend_config={{{}}}\n}}\n", config);
  auto module = ParseModule(text);
  INFO(text << module.status().ToString());
  REQUIRE(module.ok());
  return *std::move(module);
}

std::string ErrorOf(std::string_view target, const std::vector<std::string>& operands,
                    std::string_view result, std::string_view config) {
  const auto module = CallOf(target, operands, result, config);
  const auto call = LinalgCall::Make(*module->entry()->root());
  return call.ok() ? "" : std::string(ToStd(call.status().message()));
}

// Runs a call in two ranges of its batch.
void Run(const std::string& target, const std::vector<std::string>& operand_shapes,
         std::string_view result, std::string_view config, std::vector<const void*> operands,
         std::vector<void*> results) {
  const auto module = CallOf(target, operand_shapes, result, config);
  const auto call = LinalgCall::Make(*module->entry()->root());
  INFO(call.status().ToString());
  REQUIRE(call.ok());
  call->Run(operands, results, 0, call->batch() / 2);
  call->Run(operands, results, call->batch() / 2, call->batch());
}

template <class T>
std::string Name(std::string_view routine) {
  return fmt::format("lapack_{}{}_ffi", kLetter<T>, routine);
}

std::string Vector(std::string_view type, int64_t batch, int64_t n) {
  return fmt::format("{}[{},{}]", type, batch, n);
}

bool HasLapack() { return FindLapackRoutine("sgesdd") != nullptr; }

constexpr int64_t kBatch = 3;

}  // namespace

TEMPLATE_TEST_CASE("A = U S V^T", "[linalg]", float, double, std::complex<float>,
                   std::complex<double>) {
  using T = TestType;
  REQUIRE(HasLapack());  // scripts/packages.txt names one
  for (const std::string_view routine : {"gesdd", "gesvd"}) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 7}, {33, 33}}) {
      const int64_t k = std::min(m, n);
      const Batch<T> a = Random<T>(kBatch, m, n);
      Batch<T> scratch = a, u{kBatch, m, k}, v{kBatch, k, n};
      std::vector<Real<T>> s(static_cast<size_t>(kBatch * k));
      std::vector<int32_t> info(kBatch, 9);
      const std::string result =
          fmt::format("({}, {}, {}, {}, s32[{}])", a.Shape(), Vector(TextOf<Real<T>>(), kBatch, k),
                      u.Shape(), v.Shape(), kBatch);
      Run(Name<T>(routine), {a.Shape()}, result, "mode = 83 : ui8", {a.values.data()},
          {scratch.values.data(), s.data(), u.values.data(), v.values.data(), info.data()});
      CHECK(info == std::vector<int32_t>(kBatch, 0));
      CheckClose(Product(Scaled(u, s), v), a);
    }
  }
}

TEMPLATE_TEST_CASE("A V = V w for Hermitian matrices", "[linalg]", float, double,
                   std::complex<float>, std::complex<double>) {
  using T = TestType;
  REQUIRE(HasLapack());  // scripts/packages.txt names one
  for (const int64_t n : {1, 2, 7, 40}) {
    const Batch<T> a = Hermitian(Random<T>(kBatch, n, n));
    Batch<T> v{kBatch, n, n};
    std::vector<Real<T>> w(static_cast<size_t>(kBatch * n));
    std::vector<int32_t> info(kBatch, 9);
    const std::string result =
        fmt::format("({}, {}, s32[{}])", a.Shape(), Vector(TextOf<Real<T>>(), kBatch, n), kBatch);
    for (const int uplo : {'L', 'U'}) {
      Run(Name<T>(kIsComplex<T> ? "heevd" : "syevd"), {a.Shape()}, result,
          fmt::format("mode = 86 : ui8, uplo = {} : ui8", uplo), {a.values.data()},
          {v.values.data(), w.data(), info.data()});
      CHECK(info == std::vector<int32_t>(kBatch, 0));
      CheckClose(Product(a, v), Scaled(v, w));
    }
  }
}

TEMPLATE_TEST_CASE("A V = V w for real matrices with complex eigenvalues", "[linalg]", float,
                   double) {
  using T = TestType;
  using C = std::complex<T>;
  REQUIRE(HasLapack());  // scripts/packages.txt names one
  for (const int64_t n : {1, 3, 8}) {
    const Batch<T> a = Random<T>(kBatch, n, n);
    Batch<C> vl{kBatch, n, n}, vr{kBatch, n, n}, complex{kBatch, n, n};
    std::copy(a.values.begin(), a.values.end(), complex.values.begin());
    std::vector<T> re(static_cast<size_t>(kBatch * n)), im(re.size());
    std::vector<int32_t> info(kBatch, 9);
    const std::string values = Vector(TextOf<T>(), kBatch, n);
    Run(Name<T>("geev"), {a.Shape()},
        fmt::format("({}, {}, {}, {}, s32[{}])", values, values, vl.Shape(), vr.Shape(), kBatch),
        "compute_left = 86 : ui8, compute_right = 86 : ui8", {a.values.data()},
        {re.data(), im.data(), vl.values.data(), vr.values.data(), info.data()});
    std::vector<C> w;
    for (size_t i = 0; i < re.size(); ++i) w.emplace_back(re[i], im[i]);
    CheckClose(Product(complex, vr), Scaled(vr, w));
  }
}

TEMPLATE_TEST_CASE("A = Z T Z^H", "[linalg]", float, double) {
  using T = TestType;
  REQUIRE(HasLapack());  // scripts/packages.txt names one
  const Batch<T> a = Random<T>(kBatch, 6, 6);
  Batch<T> t = a, z = a;
  std::vector<T> re(kBatch * 6), im(kBatch * 6);
  std::vector<int32_t> chosen(kBatch), info(kBatch, 9);
  const std::string values = Vector(TextOf<T>(), kBatch, 6);
  Run(Name<T>("gees"), {a.Shape()},
      fmt::format("({}, {}, {}, {}, s32[3], s32[3])", a.Shape(), a.Shape(), values, values),
      "mode = 86 : ui8, sort = 78 : ui8", {a.values.data()},
      {t.values.data(), z.values.data(), re.data(), im.data(), chosen.data(), info.data()});
  CheckClose(Product(Product(z, t), z, true), a);
}

// Sizes on both sides of where LAPACK takes over.
TEMPLATE_TEST_CASE("A = Q R, by us and by LAPACK", "[linalg]", float, double, std::complex<float>,
                   std::complex<double>) {
  using T = TestType;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {6, 6}, {50, 41}}) {
    const Batch<T> a = Random<T>(kBatch, m, n);
    Batch<T> packed = a, q = a, r{kBatch, n, n};
    Batch<T> taus{kBatch, 1, n};
    const std::string tau_shape = Vector(TextOf<T>(), kBatch, n);
    Run(Name<T>("geqrf"), {a.Shape()}, fmt::format("({}, {})", a.Shape(), tau_shape), "",
        {a.values.data()}, {packed.values.data(), taus.values.data()});
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i; j < n; ++j) r.at(b, i, j) = packed.at(b, i, j);
      }
    }
    Run(Name<T>(kIsComplex<T> ? "ungqr" : "orgqr"), {a.Shape(), tau_shape}, a.Shape(), "",
        {packed.values.data(), taus.values.data()}, {q.values.data()});
    CheckClose(Product(q, r), a);
    // Q R once more, by applying the reflectors to R with zeros below.
    Batch<T> wide{kBatch, m, n};
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i; j < n; ++j) wide.at(b, i, j) = r.at(b, i, j);
      }
    }
    Run(Name<T>(kIsComplex<T> ? "unmqr" : "ormqr"), {a.Shape(), tau_shape, a.Shape()}, a.Shape(),
        "left = true, transpose = false",
        {packed.values.data(), taus.values.data(), wide.values.data()}, {q.values.data()});
    CheckClose(q, a);
  }
}

TEMPLATE_TEST_CASE("A = L L^H, and systems with L", "[linalg]", float, double, std::complex<float>,
                   std::complex<double>) {
  using T = TestType;
  for (const int64_t n : {1, 5, 37}) {
    Batch<T> a = Random<T>(kBatch, n, n);
    a = Product(a, a, true);
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < n; ++i) a.at(b, i, i) += T(static_cast<Real<T>>(n));
    }
    Batch<T> l = a, x = a;
    std::vector<int32_t> info(kBatch, 9);
    Run(Name<T>("potrf"), {a.Shape()}, fmt::format("({}, s32[{}])", a.Shape(), kBatch),
        "uplo = 76 : ui8", {a.values.data()}, {l.values.data(), info.data()});
    CHECK(info == std::vector<int32_t>(kBatch, 0));
    // L^-1 A L^-H is the identity.
    const auto solve = [&](int side, int transposition) {
      const Batch<T> before = x;
      Run(Name<T>("trsm"), {a.Shape(), a.Shape()}, a.Shape(),
          fmt::format("diag = 78 : ui8, side = {} : ui8, trans_x = {} : ui8, uplo = 76 : ui8", side,
                      transposition),
          {l.values.data(), before.values.data()}, {x.values.data()});
    };
    solve('L', 'N');
    solve('R', 'C');
    Batch<T> one{kBatch, n, n};
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < n; ++i) one.at(b, i, i) = T(1);
    }
    CheckClose(x, one);
  }
}

TEMPLATE_TEST_CASE("P A = L U", "[linalg]", float, double, std::complex<float>,
                   std::complex<double>) {
  using T = TestType;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{4, 4}, {3, 6}, {45, 30}}) {
    const int64_t k = std::min(m, n);
    const Batch<T> a = Random<T>(kBatch, m, n);
    Batch<T> packed = a, l{kBatch, m, k}, u{kBatch, k, n}, permuted = a;
    std::vector<int32_t> pivots(static_cast<size_t>(kBatch * k)), info(kBatch, 9);
    Run(Name<T>("getrf"), {a.Shape()},
        fmt::format("({}, {}, s32[{}])", a.Shape(), Vector("s32", kBatch, k), kBatch), "",
        {a.values.data()}, {packed.values.data(), pivots.data(), info.data()});
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          if (j < i && j < k) l.at(b, i, j) = packed.at(b, i, j);
          if (j >= i) u.at(b, i, j) = packed.at(b, i, j);
        }
      }
      for (int64_t i = 0; i < k; ++i) {
        l.at(b, i, i) = T(1);
        const int64_t other = pivots[static_cast<size_t>(b * k + i)] - 1;
        for (int64_t j = 0; j < n && other != i; ++j)
          std::swap(permuted.at(b, i, j), permuted.at(b, other, j));
      }
    }
    CheckClose(Product(l, u), permuted);
  }
}

TEST_CASE("perturbed tridiagonal systems stay finite", "[linalg]") {
  const std::vector<float> dl = {0, 1, 1}, d = {0, 0, 0}, du = {1, 1, 0}, b = {5, 6, 5};
  std::vector<float> x(3);
  Run("tridiagonal_solve_perturbed_ffi", {"f32[3]", "f32[3]", "f32[3]", "f32[3,1]"}, "f32[3,1]", "",
      {dl.data(), d.data(), du.data(), b.data()}, {x.data()});
  CHECK(x == std::vector<float>{6, 5, 0});
}

TEST_CASE("empty matrices and batches give empty results, and info 0", "[linalg]") {
  int32_t info = 9;
  float none = 0;
  Run("lapack_spotrf_ffi", {"f32[0,0]"}, "(f32[0,0], s32[])", "uplo = 76 : ui8", {&none},
      {&none, &info});
  CHECK(info == 0);
  Run("lapack_sgetrf_ffi", {"f32[0,3,3]"}, "(f32[0,3,3], s32[0,3], s32[0])", "", {&none},
      {&none, &info, &info});
}

TEST_CASE("every row of the table has its routines", "[linalg]") {
  for (const Target& target : Targets()) {
    INFO(target.name << " " << target.types);
    CHECK((target.routine.empty() ? target.own.f32 : target.lapack.f32) != nullptr);
    CHECK_FALSE(target.operands.empty());
    for (const char letter : target.types) CHECK(TypeOfLetter(letter) != ElementType::kOpaque);
  }
  CHECK(IsLinalgTarget("lapack_zunmqr_ffi"));
  CHECK_FALSE(IsLinalgTarget("lapack_sunmqr_ffi"));  // orthogonal, if it is real
  CHECK_FALSE(IsLinalgTarget("lapack_sgetrf"));
}

TEST_CASE("a wrong call is told what the target takes", "[linalg][errors]") {
  const std::string potrf = "lapack_spotrf_ffi", good = "(f32[3,3], s32[])";
  CHECK_THAT(ErrorOf(potrf, {"f32[3,4]"}, good, "uplo = 76 : ui8"),
             Contains("operand 0 the array `f32[3,4]`, not `f32[3,3]`"));
  CHECK_THAT(ErrorOf(potrf, {"f64[3,3]"}, good, "uplo = 76 : ui8"), Contains("of type f32"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3]"}, good, "uplo = 76 : ui8"), Contains("T[n,n]"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3,3]", "f32[3,3]"}, good, "uplo = 76 : ui8"),
             Contains("takes 1 operands"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3,3]"}, "f32[3,3]", "uplo = 76 : ui8"),
             Contains("yields T[n,n] I[]"));
  CHECK_THAT(ErrorOf(potrf, {"f32[2,3,3]"}, "(f32[2,3,3], s32[3])", "uplo = 76 : ui8"),
             Contains("result 1 the array `s32[3]`, not `s32[2]`"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3,3]"}, good, ""), Contains("lacks the attribute `uplo`"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3,3]"}, good, "uplo = 80 : ui8"),
             Contains("76 ('L') or 85 ('U')"));
  CHECK_THAT(ErrorOf(potrf, {"f32[3,3]"}, good, "uplo = 76 : ui8, odd = 1 : i32"),
             Contains("an attribute `odd`"));
  CHECK_THAT(ErrorOf("lapack_sormqr_ffi", {"f32[4,3]", "f32[3]", "f32[4,2]"}, "f32[4,2]",
                     "left = 1 : i32, transpose = true"),
             Contains("neither true nor false"));
  CHECK_THAT(ErrorOf("lapack_sgehrd_ffi", {"f32[3,3]"}, "(f32[3,3], f32[2], s32[])",
                     "low = 0 : i32, high = 3 : i32"),
             Contains("1 <= low <= high <= 3"));
  CHECK_THAT(ErrorOf("lapack_ssyevd_ffi", {"f32[40000,40000]"},
                     "(f32[40000,40000], f32[40000], s32[])", "mode = 86 : ui8, uplo = 76 : ui8"),
             Contains("up to 16000 rows"));
  CHECK_THAT(ErrorOf("lapack_sorgqr_ffi", {"f32[2,3]", "f32[2]"}, "f32[2,3]", ""),
             Contains("needs n<=m"));
}

}  // namespace hlo::linalg
