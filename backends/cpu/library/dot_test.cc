#include "backends/cpu/library/dot.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/cpu/library/test_hosts.h"
#include "backends/cpu/library/test_scratch.h"

namespace hlo::cpu {
namespace {

// How operands and results are laid out in the tests.
struct Layout {
  bool lhs_transposed = false;
  bool rhs_transposed = false;
  bool out_transposed = false;
  bool gaps = false;  // no dimension has stride 1
};

struct Case {
  int64_t batch, m, n, k;
  Layout layout;
};

DotSpec SpecOf(ElementType lhs, ElementType rhs, ElementType out, const Case& c) {
  const int64_t unit = c.layout.gaps ? 3 : 1;
  DotSpec spec;
  spec.lhs_type = lhs;
  spec.rhs_type = rhs;
  spec.out_type = out;
  spec.m = c.m;
  spec.n = c.n;
  spec.k = c.k;
  spec.lhs_m = unit * (c.layout.lhs_transposed ? 1 : c.k);
  spec.lhs_k = unit * (c.layout.lhs_transposed ? c.m : 1);
  spec.rhs_k = unit * (c.layout.rhs_transposed ? 1 : c.n);
  spec.rhs_n = unit * (c.layout.rhs_transposed ? c.k : 1);
  spec.out_m = unit * (c.layout.out_transposed ? 1 : c.n);
  spec.out_n = unit * (c.layout.out_transposed ? c.m : 1);
  spec.batch.push_back({c.batch, unit * c.m * c.k, unit * c.k * c.n, unit * c.m * c.n});
  return spec;
}

// Conversions between test values and elements of any type.
template <class T>
T Make(double re, double im) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    return {static_cast<Part>(re), static_cast<Part>(im)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return re > 0.5;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(re);
  } else if constexpr (requires { T::kWidth; }) {
    return T::Wrap(static_cast<int64_t>(re));
  } else {
    return T::FromFloat(static_cast<float>(re));
  }
}

template <class T>
std::complex<double> Value(const T& x) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(x);
  } else if constexpr (requires { T::kWidth; }) {
    return static_cast<double>(x.value);
  } else {
    return static_cast<double>(x.ToFloat());
  }
}

struct AlignedBytes {
  explicit AlignedBytes(int64_t bytes)
      : data(std::aligned_alloc(64, static_cast<size_t>((bytes + 64) / 64 * 64 + 64))) {}
  ~AlignedBytes() { std::free(data); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  void* data;
};

// Runs a dot on random small values and compares every element with a plain sum in double.
template <class L, class R, class O>
void CheckDot(DotSpec spec, double tolerance, const Host& host, int seed, bool small_integers) {
  static ThreadPool pool(3);
  spec.threads = pool.size();
  uint64_t state = static_cast<uint64_t>(seed);
  const auto random = [&state] {  // uniform in [-2, 2)
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) * 0x1p-22 - 2.0;
  };
  const int64_t batches = spec.batch.empty() ? 1 : spec.batch[0].size;
  const auto fill = [&]<class T>(std::vector<T>& v) {
    for (T& x : v) {
      double re = random(), im = random();
      if (small_integers) re = std::abs(std::trunc(re * 4));
      x = Make<T>(re, im);
    }
  };
  const int64_t gap = 3;
  const auto lhs_count = static_cast<size_t>(gap * batches * spec.m * spec.k + 1);
  const auto rhs_count = static_cast<size_t>(gap * batches * spec.k * spec.n + 1);
  const auto out_count = static_cast<size_t>(gap * batches * spec.m * spec.n + 1);
  // std::vector<bool> has no elements to point at.
  using Lv = std::conditional_t<std::is_same_v<L, bool>, uint8_t, L>;
  using Rv = std::conditional_t<std::is_same_v<R, bool>, uint8_t, R>;
  using Ov = std::conditional_t<std::is_same_v<O, bool>, uint8_t, O>;
  std::vector<Lv> a(lhs_count);
  std::vector<Rv> b(rhs_count);
  std::vector<Ov> out(out_count);
  fill(a);
  fill(b);
  if constexpr (std::is_same_v<L, bool>) {
    for (auto& x : a) x &= 1;
    for (auto& x : b) x &= 1;
  }
  absl::StatusOr<std::unique_ptr<DotKernel>> dot = MakeDot(spec, host);
  REQUIRE(dot.ok());
  CAPTURE(std::string((*dot)->engine()), batches, spec.m, spec.n, spec.k, spec.lhs_k, spec.rhs_k,
          spec.out_n, std::string(Text(spec.out_type)), std::string(IsaName(host.level)));
  AlignedBytes scratch((*dot)->scratch_bytes());
  const auto kept = (*dot)->MakeState();
  REQUIRE(kept.ok());
  for (int run = 0; run < 2; ++run) {
    (*dot)->Run({a.data(), b.data(), out.data(), scratch.data, kept->get()}, pool);
  }

  int64_t wrong = 0;
  double worst = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const DotBatch step = spec.batch.empty() ? DotBatch{} : spec.batch[0];
    for (int64_t m = 0; m < spec.m; ++m) {
      for (int64_t n = 0; n < spec.n; ++n) {
        std::complex<double> sum = 0;
        double size = 0;
        for (int64_t k = 0; k < spec.k; ++k) {
          const auto x =
              Value(a[static_cast<size_t>(batch * step.lhs + m * spec.lhs_m + k * spec.lhs_k)]);
          const auto y =
              Value(b[static_cast<size_t>(batch * step.rhs + k * spec.rhs_k + n * spec.rhs_n)]);
          sum += x * y;
          size += std::abs(x * y);
        }
        const Ov& got =
            out[static_cast<size_t>(batch * step.out + m * spec.out_m + n * spec.out_n)];
        if constexpr (std::is_same_v<O, bool>) {
          wrong += (got != 0) != (sum.real() != 0);
        } else if constexpr (std::is_integral_v<O>) {
          wrong += got != static_cast<O>(static_cast<int64_t>(sum.real()));
        } else if constexpr (requires { O::kWidth; }) {
          wrong += got.value != O::Wrap(static_cast<int64_t>(sum.real())).value;
        } else {
          const double error = std::abs(Value(got) - sum) / (size + 1e-30);
          worst = std::max(worst, error);
          wrong += !(error <= tolerance);
        }
      }
    }
  }
  CAPTURE(worst);
  CHECK(wrong == 0);
}

const Case kCases[] = {
    {1, 1, 1, 1, {}},      {1, 3, 5, 7, {}},     {1, 6, 16, 300, {}}, {1, 64, 64, 64, {}},
    {1, 130, 70, 600, {}}, {5, 13, 17, 19, {}},  {1, 1, 200, 90, {}}, {1, 200, 1, 90, {}},
    {1, 4, 33, 70, {}},    {2, 33, 4, 70, {}},   {1, 2, 3, 9000, {}}, {1, 37, 300, 10, {}},
    {2, 7, 129, 65, {}},   {1, 1, 1, 12500, {}},
};

const Layout kLayouts[] = {{},
                           {true, false, false},
                           {false, true, false},
                           {true, true, true},
                           {false, false, true},
                           {false, true, false, true}};

template <class L, class R, class O>
void CheckAll(ElementType l, ElementType r, ElementType o, double tolerance, bool small = false) {
  int seed = 1;
  int skipped = 0;
  for (const Host& host : HostsOfEachLevel()) {
    for (Case c : kCases) {
      for (const Layout& layout : kLayouts) {
        c.layout = layout;
        // Every combination in f32; elsewhere the small ones, and each sixth of the large ones.
        if (l != ElementType::kF32 && c.m * c.n * c.k > 20000 && ++skipped % 6 != 0) continue;
        CheckDot<L, R, O>(SpecOf(l, r, o, c), tolerance, host, ++seed, small);
      }
    }
  }
}

using E = ElementType;

TEST_CASE("f32 products agree with sums in double", "[cpu][dot]") {
  CheckAll<float, float, float>(E::kF32, E::kF32, E::kF32, 1e-6);
}

TEST_CASE("f64 products agree with sums in double", "[cpu][dot]") {
  CheckAll<double, double, double>(E::kF64, E::kF64, E::kF64, 1e-14);
}

TEST_CASE("bf16 and f16 products are rounded once", "[cpu][dot]") {
  CheckAll<BF16, BF16, BF16>(E::kBF16, E::kBF16, E::kBF16, 0x1p-8);
  CheckAll<BF16, BF16, float>(E::kBF16, E::kBF16, E::kF32, 1e-6);
  CheckAll<F16, F16, F16>(E::kF16, E::kF16, E::kF16, 0x1p-10);
  CheckAll<float, BF16, float>(E::kF32, E::kBF16, E::kF32, 1e-6);
}

TEST_CASE("integer products are exact and wrap", "[cpu][dot]") {
  CheckAll<int32_t, int32_t, int32_t>(E::kS32, E::kS32, E::kS32, 0, true);
  CheckAll<int8_t, int8_t, int32_t>(E::kS8, E::kS8, E::kS32, 0, true);
  CheckAll<uint8_t, int8_t, int32_t>(E::kU8, E::kS8, E::kS32, 0, true);
  CheckAll<int16_t, int16_t, int32_t>(E::kS16, E::kS16, E::kS32, 0, true);
  CheckAll<uint16_t, int8_t, int32_t>(E::kU16, E::kS8, E::kS32, 0, true);
  CheckAll<uint8_t, uint8_t, uint8_t>(E::kU8, E::kU8, E::kU8, 0, true);
  CheckAll<int64_t, int64_t, int64_t>(E::kS64, E::kS64, E::kS64, 0, true);
  CheckAll<S4, S4, S4>(E::kS4, E::kS4, E::kS4, 0, true);
  CheckAll<int8_t, int16_t, int64_t>(E::kS8, E::kS16, E::kS64, 0, true);
}

TEST_CASE("pairs of the smallest 16-bit integers wrap", "[cpu][dot]") {
  // One sum of two products is 2^31.
  const std::vector<int16_t> smallest(5 * 7, INT16_MIN);
  std::vector<int32_t> out(49);
  DotSpec spec = DotSpec::RowMajor(E::kS16, 7, 7, 5);
  spec.out_type = E::kS32;
  for (const Host& host : HostsOfEachLevel()) {
    const auto dot = MakeDot(spec, host);
    REQUIRE(dot.ok());
    ThreadPool pool(1);
    Scratch scratch((*dot)->scratch_bytes());
    (*dot)->Run({smallest.data(), smallest.data(), out.data(), scratch.data}, pool);
    const auto want = static_cast<int32_t>(uint32_t{5} << 30);
    CHECK(out == std::vector<int32_t>(49, want));
  }
}

// Bytes of all values, [m, k] by [k, n], results row-major or transposed.
template <class L, class R>
void CheckBytes(ElementType left, ElementType right, const Host& host, int64_t m, int64_t n,
                int64_t k, Layout layout) {
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  std::vector<L> lhs(at(m * k));
  std::vector<R> rhs(at(k * n));
  for (size_t i = 0; i < lhs.size(); ++i) lhs[i] = static_cast<L>(i * 37 + 128);
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = static_cast<R>(i * 91 + 128);
  std::vector<int32_t> out(at(m * n));
  const DotSpec spec = SpecOf(left, right, E::kS32, {1, m, n, k, layout});
  const auto dot = MakeDot(spec, host);
  REQUIRE(dot.ok());
  ThreadPool pool(1);
  Scratch scratch((*dot)->scratch_bytes());
  (*dot)->Run({lhs.data(), rhs.data(), out.data(), scratch.data}, pool);
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t z = 0; z < k; ++z)
        sum += int32_t{lhs[at(i * spec.lhs_m + z * spec.lhs_k)]} *
               int32_t{rhs[at(z * spec.rhs_k + j * spec.rhs_n)]};
      wrong += out[at(i * spec.out_m + j * spec.out_n)] != sum;
    }
  }
  CAPTURE(m, n, k, std::string(Text(left)), std::string(Text(right)), host.ToString());
  CHECK(wrong == 0);
}

TEST_CASE("products of bytes of every sign", "[cpu][dot]") {
  std::vector<Host> hosts = HostsOfEachLevel();
  hosts.push_back(hosts.back());
  hosts.back().avx512_vnni = false;
  for (const Host& host : hosts) {
    for (const Layout layout :
         {Layout{}, Layout{true, false, true, false}, Layout{false, true, true, false},
          Layout{true, true, false, false}}) {
      for (const int64_t k : {5, 64, 1001}) {
        CheckBytes<int8_t, int8_t>(E::kS8, E::kS8, host, 13, 35, k, layout);
        CheckBytes<uint8_t, int8_t>(E::kU8, E::kS8, host, 24, 64, k, layout);
        CheckBytes<int8_t, uint8_t>(E::kS8, E::kU8, host, 17, 33, k, layout);
        CheckBytes<uint8_t, uint8_t>(E::kU8, E::kU8, host, 12, 40, k, layout);
      }
    }
  }
}

TEST_CASE("pred, complex and 8-bit floats", "[cpu][dot]") {
  CheckAll<bool, bool, bool>(E::kPred, E::kPred, E::kPred, 0, true);
  CheckAll<std::complex<float>, std::complex<float>, std::complex<float>>(E::kC64, E::kC64, E::kC64,
                                                                          1e-6);
  CheckAll<std::complex<double>, std::complex<double>, std::complex<double>>(E::kC128, E::kC128,
                                                                             E::kC128, 1e-14);
  CheckAll<F8E4M3FN, F8E5M2, float>(E::kF8E4M3FN, E::kF8E5M2, E::kF32, 1e-6);
}

TEST_CASE("a constant rhs may be packed once", "[cpu][dot]") {
  int seed = 200;
  for (const Host& host : HostsOfEachLevel()) {
    for (const Case& c : kCases) {
      DotSpec spec = SpecOf(E::kF32, E::kF32, E::kF32, c);
      spec.rhs_constant = true;
      CheckDot<float, float, float>(spec, 1e-6, host, ++seed, false);
      if (c.m * c.n * c.k > 3'000'000) continue;
      spec.lhs_type = spec.rhs_type = E::kBF16;
      CheckDot<BF16, BF16, float>(spec, 1e-6, host, ++seed, false);
      spec.lhs_type = spec.rhs_type = E::kS8;
      spec.out_type = E::kS32;
      CheckDot<int8_t, int8_t, int32_t>(spec, 0, host, ++seed, true);
    }
  }
}

TEST_CASE("denormal numbers of bf16 count where they are kept", "[cpu][dot]") {
  constexpr int64_t kSize = 64;
  const BF16 tiny = BF16::FromFloat(0x1p-130f), large = BF16::FromFloat(0x1p100f);
  const std::vector<BF16> lhs(kSize * kSize, tiny), rhs(kSize * kSize, large);
  for (const Host& host : HostsOfEachLevel()) {
    DotSpec spec = DotSpec::RowMajor(E::kBF16, kSize, kSize, kSize);
    spec.keeps_denormals = true;
    const auto dot = MakeDot(spec, host);
    REQUIRE(dot.ok());
    ThreadPool pool(1);
    Scratch scratch((*dot)->scratch_bytes());
    std::vector<BF16> out(kSize * kSize);
    (*dot)->Run({lhs.data(), rhs.data(), out.data(), scratch.data}, pool);
    CHECK(out[0].ToFloat() == 0x1p-24f);
  }
}

TEST_CASE("a state keeps a constant rhs packed until it is to forget it", "[cpu][dot]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  DotSpec spec = DotSpec::RowMajor(E::kF32, 32, 32, 32);
  spec.rhs_constant = true;
  const auto dot = MakeDot(spec, *host);
  REQUIRE(dot.ok());
  REQUIRE(std::string((*dot)->engine()) == "gemm");
  const auto one = (*dot)->MakeState(), other = (*dot)->MakeState();
  REQUIRE((one.ok() && other.ok()));
  std::vector<float> a(32 * 32, 1.0f), b(32 * 32, 1.0f), out(32 * 32);
  AlignedBytes scratch((*dot)->scratch_bytes());
  ThreadPool pool(1);
  const auto run = [&](KernelState* state) {
    (*dot)->Run({a.data(), b.data(), out.data(), scratch.data, state}, pool);
    return out[0];
  };
  CHECK(run(one->get()) == 32.0f);
  b.assign(b.size(), 2.0f);  // it was promised not to change
  CHECK(run(one->get()) == 32.0f);
  CHECK(run(other->get()) == 64.0f);
  CHECK(run(nullptr) == 64.0f);
  (*one)->ForgetOperands();
  CHECK(run(one->get()) == 64.0f);
}

TEST_CASE("a product over no elements is zero", "[cpu][dot]") {
  DotSpec spec = DotSpec::RowMajor(E::kF32, 2, 3, 0);
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  const auto dot = MakeDot(spec, *host);
  REQUIRE(dot.ok());
  ThreadPool pool(1);
  std::vector<float> out(6, 7.0f);
  (*dot)->Run({nullptr, nullptr, out.data(), nullptr}, pool);
  for (const float x : out) CHECK(x == 0);
}

TEST_CASE("sums do not depend on the number of threads", "[cpu][dot]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  for (const Case& c :
       {Case{1, 130, 70, 600, {}}, Case{1, 1, 3000, 700, {}}, Case{1, 2, 3, 50000, {}}}) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 5}) {
      DotSpec spec = DotSpec::RowMajor(E::kF32, c.m, c.n, c.k);
      spec.threads = threads;
      ThreadPool pool(threads);
      std::vector<float> a(static_cast<size_t>(c.m * c.k)), b(static_cast<size_t>(c.k * c.n));
      std::vector<float> out(static_cast<size_t>(c.m * c.n));
      for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
      for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i));
      const auto dot = MakeDot(spec, *host);
      REQUIRE(dot.ok());
      AlignedBytes scratch((*dot)->scratch_bytes());
      (*dot)->Run({a.data(), b.data(), out.data(), scratch.data}, pool);
      results.push_back(out);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

}  // namespace
}  // namespace hlo::cpu
