#include "backends/cpu/library/fft.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "backends/cpu/library/test_hosts.h"
#include "backends/cpu/library/test_scratch.h"

namespace hlo::cpu {
namespace {

using FftValue = std::complex<double>;

// The transform along dimension d of a dense array, by its definition.
std::vector<FftValue> Slow(const std::vector<FftValue>& x, const std::vector<int64_t>& sizes,
                           size_t d, bool inverse) {
  int64_t stride = 1;
  for (size_t e = d + 1; e < sizes.size(); ++e) stride *= sizes[e];
  const int64_t n = sizes[d];
  std::vector<FftValue> y(x.size());
  for (size_t at = 0; at < x.size(); ++at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t k = i / stride % n;
    const int64_t base = i - k * stride;
    FftValue sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += x[static_cast<size_t>(base + j * stride)] * std::polar(1.0, inverse ? angle : -angle);
    }
    y[at] = inverse ? sum / static_cast<double>(n) : sum;
  }
  return y;
}

double Noise(size_t i) { return std::sin(static_cast<double>(i) * 12.9898) * 2; }

template <class T>
void CheckComplex(std::vector<int64_t> length, bool inverse, double tolerance, const Host& host) {
  const int64_t batch = 2;
  FftSpec spec;
  spec.kind = inverse ? FftKind::kInverse : FftKind::kForward;
  spec.is_double = sizeof(T) == 8;
  spec.batch = batch;
  spec.length.assign(length.begin(), length.end());
  spec.threads = 2;
  std::vector<int64_t> sizes = {batch};
  sizes.insert(sizes.end(), length.begin(), length.end());
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<std::complex<T>> x(count), y(count);
  std::vector<FftValue> want(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = {static_cast<T>(Noise(2 * i)), static_cast<T>(Noise(2 * i + 1))};
    want[i] = x[i];
  }
  for (size_t d = 1; d < sizes.size(); ++d) want = Slow(want, sizes, d, inverse);
  const auto fft = MakeFft(spec, host);
  REQUIRE(fft.ok());
  ThreadPool pool(2);
  Scratch scratch((*fft)->scratch_bytes());
  (*fft)->Run(x.data(), y.data(), scratch.data, pool);
  double worst = 0, size = 0;
  for (size_t i = 0; i < count; ++i) {
    worst = std::max(worst, std::abs(FftValue(y[i]) - want[i]));
    size = std::max(size, std::abs(want[i]));
  }
  CAPTURE(length, inverse, worst, size, host.ToString());
  CHECK(worst <= tolerance * size);
}

TEST_CASE("complex transforms of any length agree with the definition", "[cpu][fft]") {
  for (const Host& host : HostsOfEachLevel()) {
    for (const bool inverse : {false, true}) {
      for (const int64_t n : {1,  2,  3,  4,  5,  6,   7,   8,   11,  12,  13,  16,  17,  30, 31,
                              64, 77, 97, 96, 98, 120, 169, 256, 264, 320, 400, 509, 512, 630}) {
        CheckComplex<float>({n}, inverse, 2e-6, host);
        CheckComplex<double>({n}, inverse, 1e-13, host);
      }
      CheckComplex<float>({6, 10}, inverse, 2e-6, host);
      CheckComplex<float>({37, 20}, inverse, 2e-6, host);
      CheckComplex<double>({3, 17, 8}, inverse, 1e-13, host);
    }
  }
}

TEST_CASE("real transforms agree with complex ones, and invert", "[cpu][fft]") {
  for (const std::vector<int64_t>& length : {std::vector<int64_t>{1},
                                             {2},
                                             {8},
                                             {15},
                                             {34},
                                             {512},
                                             {600},
                                             {525},
                                             {1018},
                                             {509},
                                             {6, 8},
                                             {4, 9},
                                             {3, 4, 5},
                                             {5, 260}}) {
    const int64_t n = length.back(), half = n / 2 + 1;
    int64_t rows = 2;
    for (size_t d = 0; d + 1 < length.size(); ++d) rows *= length[d];
    std::vector<double> x(static_cast<size_t>(rows * n)), back(x.size());
    std::vector<FftValue> full(x.size()), packed(static_cast<size_t>(rows * half));
    for (size_t i = 0; i < x.size(); ++i) full[i] = x[i] = Noise(i);
    std::vector<int64_t> sizes = {2};
    sizes.insert(sizes.end(), length.begin(), length.end());
    for (size_t d = 1; d < sizes.size(); ++d) full = Slow(full, sizes, d, false);

    FftSpec spec;
    spec.is_double = true;
    spec.batch = 2;
    spec.length.assign(length.begin(), length.end());
    spec.threads = 2;
    ThreadPool pool(2);
    spec.kind = FftKind::kRealForward;
    const auto forward = MakeFft(spec, *DetectHost());
    spec.kind = FftKind::kRealInverse;
    const auto inverse = MakeFft(spec, *DetectHost());
    REQUIRE(forward.ok());
    REQUIRE(inverse.ok());
    Scratch scratch(std::max((*forward)->scratch_bytes(), (*inverse)->scratch_bytes()));
    (*forward)->Run(x.data(), packed.data(), scratch.data, pool);
    double worst = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < half; ++k) {
        worst = std::max(worst, std::abs(packed[static_cast<size_t>(row * half + k)] -
                                         full[static_cast<size_t>(row * n + k)]));
      }
    }
    (*inverse)->Run(packed.data(), back.data(), scratch.data, pool);
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(back[i] - x[i]));
    CAPTURE(length);
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("a transform of more than three dimensions is refused", "[cpu][fft]") {
  FftSpec spec;
  spec.length = {2, 2, 2, 2};
  CHECK_FALSE(MakeFft(spec, *DetectHost()).ok());
}

}  // namespace
}  // namespace hlo::cpu
