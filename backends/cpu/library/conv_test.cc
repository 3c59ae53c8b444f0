#include "backends/cpu/library/conv.h"

#include <dirent.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/library/omp_shim.h"
#include "backends/cpu/library/test_hosts.h"

namespace hlo::cpu {
namespace {

using E = ElementType;

struct TestConv {
  ConvSpec spec;
  std::string name;
};

int64_t OutSize(const ConvDim& d) {
  const int64_t in = (d.in - 1) * d.lhs_dilation + 1 + d.pad_low + d.pad_high;
  const int64_t window = (d.kernel - 1) * d.rhs_dilation + 1;
  return in < window ? 0 : (in - window) / d.stride + 1;
}

enum class Order { kChannelsLast, kChannelsFirst, kGradient };

// As the gradient of a kernel is computed from channels-last arrays: f01b_i01o->01bf.
ConvSpec FinishGradient(ConvSpec spec) {
  spec.lhs_batch = 1;
  spec.rhs_out = 1;
  spec.out_feature = 1;
  spec.out_batch = spec.out_features;
  int64_t lhs_step = spec.batch, rhs_step = spec.out_features;
  int64_t out_step = spec.out_batch_size() * spec.out_features;
  for (size_t d = spec.spatial.size(); d-- > 0;) {
    ConvDim& dim = spec.spatial[d];
    dim.lhs_stride = lhs_step;
    dim.rhs_stride = rhs_step;
    dim.out_stride = out_step;
    lhs_step *= dim.in;
    rhs_step *= dim.kernel;
    out_step *= dim.out;
  }
  spec.lhs_feature = lhs_step;
  spec.rhs_in = rhs_step;
  spec.threads = 2;
  return spec;
}

// Fills in sizes of the result and dense strides.
ConvSpec Finish(ConvSpec spec, Order order) {
  for (ConvDim& d : spec.spatial) d.out = OutSize(d);
  if (order == Order::kGradient) return FinishGradient(spec);
  const bool last = order == Order::kChannelsLast;
  const auto lay = [&](int64_t batch, int64_t features, int64_t ConvDim::*size,
                       int64_t ConvDim::*stride, int64_t& batch_stride, int64_t& feature_stride) {
    int64_t step = 1;
    if (last) {
      feature_stride = 1;
      step = features;
    }
    for (size_t d = spec.spatial.size(); d-- > 0;) {
      spec.spatial[d].*stride = step;
      step *= spec.spatial[d].*size;
    }
    if (!last) {
      feature_stride = step;
      step *= features;
    }
    batch_stride = step;
    static_cast<void>(batch);
  };
  lay(spec.batch, spec.in_features, &ConvDim::in, &ConvDim::lhs_stride, spec.lhs_batch,
      spec.lhs_feature);
  lay(spec.out_batch_size(), spec.out_features, &ConvDim::out, &ConvDim::out_stride, spec.out_batch,
      spec.out_feature);
  // The kernel: spatial, in, out; or out, in, spatial.
  const int64_t in = spec.in_features / spec.feature_groups;
  int64_t step = 1;
  if (last) {
    spec.rhs_out = 1;
    spec.rhs_in = spec.out_features;
    step = in * spec.out_features;
  }
  for (size_t d = spec.spatial.size(); d-- > 0;) {
    spec.spatial[d].rhs_stride = step;
    step *= spec.spatial[d].kernel;
  }
  if (!last) {
    spec.rhs_in = step;
    spec.rhs_out = step * in;
  }
  spec.threads = 2;
  return spec;
}

template <class T>
double ValueOf(T x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(x.ToFloat());
  }
}

// One element of the result, by the definition at the head of conv.h.
template <class T>
double Expected(const ConvSpec& s, const std::vector<T>& lhs, const std::vector<T>& rhs, int64_t n,
                const std::vector<int64_t>& at, int64_t o, double& size) {
  const int64_t out_per_batch_group = s.out_features / s.batch_groups;
  const int64_t image = o / out_per_batch_group * s.out_batch_size() + n;
  const int64_t group_in = s.in_features / s.feature_groups;
  const int64_t group = o / (s.out_features / s.feature_groups);
  int64_t taps = 1;
  for (const ConvDim& d : s.spatial) taps *= d.kernel;
  double sum = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap, lhs_at = image * s.lhs_batch, rhs_at = o * s.rhs_out;
    bool inside = true;
    for (size_t d = s.spatial.size(); d-- > 0;) {
      const ConvDim& dim = s.spatial[d];
      const int64_t k = rest % dim.kernel;
      rest /= dim.kernel;
      const int64_t p = at[d] * dim.stride + k * dim.rhs_dilation - dim.pad_low;
      if (p < 0 || p % dim.lhs_dilation != 0 || p / dim.lhs_dilation >= dim.in) inside = false;
      lhs_at += p / dim.lhs_dilation * dim.lhs_stride;
      rhs_at += (dim.reversed ? dim.kernel - 1 - k : k) * dim.rhs_stride;
    }
    if (!inside) continue;
    for (int64_t z = 0; z < group_in; ++z) {
      const double x =
          ValueOf(lhs[static_cast<size_t>(lhs_at + (group * group_in + z) * s.lhs_feature)]) *
          ValueOf(rhs[static_cast<size_t>(rhs_at + z * s.rhs_in)]);
      sum += x;
      size += std::abs(x);
    }
  }
  return sum;
}

template <class T>
T MakeValue(int i) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(i % 7 - 3);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(std::sin(i * 0.7) * 2);
  } else {
    return T::FromFloat(static_cast<float>(std::sin(i * 0.7) * 2));
  }
}

bool IsNear(double got, double want, double most) {
  if (std::isfinite(want)) return std::abs(got - want) <= most;
  return std::isnan(want) ? std::isnan(got) : got == want;
}

// Runs `kernel` and compares with Expected. `is_infinite`: an element of the kernel is.
template <class T>
void CheckKernel(const ConvSpec& s, const ConvKernel& kernel, double tolerance,
                 bool is_infinite = false) {
  int64_t lhs_count = s.batch * s.in_features,
          rhs_count = s.in_features * s.out_features / s.feature_groups;
  int64_t positions = 1;
  for (const ConvDim& d : s.spatial) {
    lhs_count *= d.in;
    rhs_count *= d.kernel;
    positions *= d.out;
  }
  std::vector<T> lhs(static_cast<size_t>(lhs_count)), rhs(static_cast<size_t>(rhs_count));
  std::vector<T> out(static_cast<size_t>(s.out_batch_size() * positions * s.out_features));
  for (size_t i = 0; i < lhs.size(); ++i) lhs[i] = MakeValue<T>(static_cast<int>(i));
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = MakeValue<T>(static_cast<int>(i * 3 + 1));
  if constexpr (std::is_floating_point_v<T>) {
    if (is_infinite) rhs[rhs.size() / 3] = std::numeric_limits<T>::infinity();
  }
  static ThreadPool pool(2);
  const auto bytes = static_cast<size_t>((kernel.scratch_bytes() + 128) / 64 * 64);
  void* scratch = std::aligned_alloc(64, bytes);
  const auto state = kernel.MakeState();
  REQUIRE(state.ok());
  for (int run = 0; run < 2; ++run) {
    const absl::Status status =
        kernel.Run({lhs.data(), rhs.data(), out.data(), scratch, state->get()}, pool);
    REQUIRE(status.ok());
  }
  std::free(scratch);
  int64_t wrong = 0;
  std::vector<int64_t> at(s.spatial.size());
  for (int64_t n = 0; n < s.out_batch_size(); ++n) {
    for (int64_t p = 0; p < positions; ++p) {
      int64_t rest = p, offset = n * s.out_batch;
      for (size_t d = at.size(); d-- > 0;) {
        at[d] = rest % s.spatial[d].out;
        rest /= s.spatial[d].out;
        offset += at[d] * s.spatial[d].out_stride;
      }
      for (int64_t o = 0; o < s.out_features; ++o) {
        double size = 1e-30;
        const double want = Expected(s, lhs, rhs, n, at, o, size);
        const double got = ValueOf(out[static_cast<size_t>(offset + o * s.out_feature)]);
        wrong += !IsNear(got, want, tolerance * size);
      }
    }
  }
  CHECK(wrong == 0);
}

ConvDim Dim(int64_t in, int64_t kernel, int64_t stride = 1, int64_t low = 0, int64_t high = 0,
            int64_t lhs_dilation = 1, int64_t rhs_dilation = 1, bool reversed = false) {
  ConvDim d;
  d.in = in;
  d.kernel = kernel;
  d.stride = stride;
  d.pad_low = low;
  d.pad_high = high;
  d.lhs_dilation = lhs_dilation;
  d.rhs_dilation = rhs_dilation;
  d.reversed = reversed;
  return d;
}

ConvSpec Spec(std::vector<ConvDim> dims, int64_t batch, int64_t in, int64_t out,
              int64_t feature_groups = 1, int64_t batch_groups = 1) {
  ConvSpec spec;
  spec.spatial.assign(dims.begin(), dims.end());
  spec.batch = batch;
  spec.in_features = in;
  spec.out_features = out;
  spec.feature_groups = feature_groups;
  spec.batch_groups = batch_groups;
  return spec;
}

std::vector<TestConv> Cases() {
  return {
      {Spec({Dim(9, 3, 1, 1, 1), Dim(10, 3, 1, 1, 1)}, 2, 16, 24), "3x3 same"},
      {Spec({Dim(20, 7, 2, 3, 3), Dim(20, 7, 2, 3, 3)}, 1, 3, 16), "7x7 stride 2"},
      {Spec({Dim(7, 1, 2), Dim(8, 1, 2)}, 2, 16, 8), "1x1 stride 2"},
      {Spec({Dim(12, 3, 1, 2, 0, 1, 2)}, 3, 5, 7), "1-D dilated kernel, one-sided padding"},
      {Spec({Dim(5, 2), Dim(6, 3, 2, 1, 1), Dim(4, 2, 1, 0, 1)}, 1, 4, 8), "3-D"},
      {Spec({Dim(6, 3, 1, 1, 1), Dim(6, 3, 1, 1, 1)}, 2, 16, 16, 16), "depthwise"},
      {Spec({Dim(6, 3, 1, 1, 1), Dim(6, 2)}, 1, 12, 18, 3), "feature groups"},
      {Spec({Dim(6, 3, 1, 1, 1), Dim(5, 2)}, 4, 3, 8, 1, 2), "batch groups"},
      {Spec({Dim(5, 3, 1, 2, 2, 2, 1, true), Dim(6, 3, 1, 1, 2, 2, 1, true)}, 2, 8, 16),
       "gradient of a strided convolution"},
      {Spec({Dim(5, 3, 1, 1, 1, 2), Dim(4, 2, 1, 1, 0, 3)}, 1, 8, 8),
       "transposed, kernel forwards"},
      {Spec({Dim(6, 3, 1, 1, 1, 1, 1, true), Dim(6, 3, 1, 1, 1)}, 1, 8, 8),
       "one dimension reversed"},
      {Spec({Dim(9, 3, 1, -1, 2), Dim(9, 3, 2, 1, -2)}, 1, 8, 8), "negative padding"},
      {Spec({Dim(5, 3, 2, 4, 3, 2, 2), Dim(4, 3, 1, 5, 6)}, 1, 3, 5), "everything at once"},
      {Spec({}, 5, 6, 7), "no spatial dimension"},
      {Spec({Dim(3, 2, 1, 9, 9)}, 1, 2, 3), "more padding than input"},
      {Spec({Dim(28, 28, 1, 1, 1)}, 3, 5, 6), "a kernel as large as the input"},
      {Spec({Dim(9, 9, 1, 1, 1), Dim(10, 10, 1, 1, 1)}, 14, 3, 40), "gradient of a 3x3 kernel"},
      {Spec({Dim(9, 5, 1, 1, 1, 1, 2), Dim(8, 4, 1, 0, 1, 1, 2)}, 13, 2, 33),
       "gradient of a kernel with stride 2"},
      {Spec({Dim(5, 2, 2), Dim(6, 3)}, 2, 7, 9), "windows that see nothing but input"},
      {Spec({Dim(300, 31, 1, 15, 15)}, 1, 1, 1), "one channel of sound"},
      {Spec({Dim(9, 3, 2, 1, 1), Dim(40, 5, 1, 2, 2, 1, 2)}, 2, 1, 3), "one channel of an image"},
      {Spec({Dim(7, 3), Dim(23, 4)}, 2, 6, 4, 2), "two results per group"},
      {Spec({Dim(8, 3, 1, -1, 3, 1, 1, true), Dim(30, 5, 1, 3, -2, 1, 1, true)}, 1, 5, 5, 5),
       "channels by themselves, backwards"},
  };
}

TEST_CASE("convolutions agree with their definition", "[cpu][conv]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  for (const TestConv& c : Cases()) {
    for (const Order order : {Order::kChannelsLast, Order::kChannelsFirst, Order::kGradient}) {
      const ConvSpec spec = Finish(c.spec, order);
      CAPTURE(c.name, static_cast<int>(order));
      const auto best = MakeConv(spec, *host);
      REQUIRE(best.ok());
      CheckKernel<float>(spec, **best, 1e-5);
      const auto gemm = MakeGemmConv(spec, *host);
      REQUIRE(gemm.ok());
      CheckKernel<float>(spec, **gemm, 1e-6);
      const auto implicit = MakeImplicitConv(spec, *host);
      if (implicit != nullptr) CheckKernel<float>(spec, *implicit, 1e-6);
    }
  }
}

TEST_CASE("rows of few results", "[cpu][conv]") {
  int found = 0;
  for (const Host& host : HostsOfEachLevel()) {
    for (const TestConv& c : Cases()) {
      for (const Order order : {Order::kChannelsLast, Order::kChannelsFirst, Order::kGradient}) {
        ConvSpec spec = Finish(c.spec, order);
        CAPTURE(c.name, static_cast<int>(order), static_cast<int>(host.level));
        const auto rows = MakeRowConv(spec, host);
        if (rows == nullptr) continue;
        ++found;
        CheckKernel<float>(spec, *rows, 1e-6);
        spec.lhs_type = spec.rhs_type = spec.out_type = E::kF64;
        CheckKernel<double>(spec, *MakeRowConv(spec, host), 1e-14);
      }
    }
  }
  CHECK(found >= 5);
}

TEST_CASE("infinite kernels do not meet padding", "[cpu][conv]") {
  for (const Host& host : HostsOfEachLevel()) {
    for (const TestConv& c : Cases()) {
      for (const Order order : {Order::kChannelsLast, Order::kChannelsFirst, Order::kGradient}) {
        ConvSpec spec = Finish(c.spec, order);
        CAPTURE(c.name, static_cast<int>(order), static_cast<int>(host.level));
        const auto best = MakeConv(spec, host);
        REQUIRE(best.ok());
        CheckKernel<float>(spec, **best, 1e-5, /*is_infinite=*/true);
        if (order != Order::kChannelsLast) continue;
        spec.lhs_type = spec.rhs_type = spec.out_type = E::kF64;
        const auto wide = MakeConv(spec, host);
        REQUIRE(wide.ok());
        CheckKernel<double>(spec, **wide, 1e-14, /*is_infinite=*/true);
      }
    }
  }
}

TEST_CASE("constant kernels", "[cpu][conv]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  for (const TestConv& c : Cases()) {
    ConvSpec spec = Finish(c.spec, Order::kChannelsLast);
    spec.rhs_constant = true;
    CAPTURE(c.name);
    const auto best = MakeConv(spec, *host);
    REQUIRE(best.ok());
    CheckKernel<float>(spec, **best, 1e-5);
  }
}

TEST_CASE("other element types", "[cpu][conv]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  const auto check = [&]<class T>(T, ElementType type, double tolerance) {
    for (const TestConv& c : Cases()) {
      ConvSpec spec = Finish(c.spec, Order::kChannelsLast);
      spec.lhs_type = spec.rhs_type = spec.out_type = type;
      CAPTURE(c.name, std::string(Text(type)));
      const auto best = MakeConv(spec, *host);
      REQUIRE(best.ok());
      CheckKernel<T>(spec, **best, tolerance);
      const auto implicit = MakeImplicitConv(spec, *host);
      if (implicit != nullptr) CheckKernel<T>(spec, *implicit, tolerance);
    }
  };
  check(double{}, E::kF64, 1e-14);
  check(BF16{}, E::kBF16, 0x1p-8);
  check(F16{}, E::kF16, 0x1p-10);
  check(int32_t{}, E::kS32, 0);
  check(int64_t{}, E::kS64, 0);
}

TEST_CASE("complex convolutions are refused", "[cpu][conv]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  ConvSpec spec = Finish(Cases()[0].spec, Order::kChannelsLast);
  spec.lhs_type = spec.rhs_type = spec.out_type = E::kC64;
  CHECK(MakeConv(spec, *host).status().code() == absl::StatusCode::kUnimplemented);
}

int CountThreads() {
  int count = 0;
  DIR* dir = opendir("/proc/self/task");
  if (dir == nullptr) return -1;
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

TEST_CASE("oneDNN runs on our pool and starts no threads", "[cpu][conv][omp]") {
  const absl::StatusOr<Host> host = DetectHost();
  REQUIRE(host.ok());
  if (host->level < IsaLevel::kAvx2) return;
  const ConvSpec spec =
      Finish(Spec({Dim(56, 3, 1, 1, 1), Dim(56, 3, 1, 1, 1)}, 1, 64, 64), Order::kChannelsLast);
  const auto conv = MakeOneDnnConv(spec, *host);
  REQUIRE(conv.ok());
  REQUIRE(*conv != nullptr);
  CheckKernel<float>(spec, **conv, 1e-5);  // starts the pool of this file
  const int threads = CountThreads();
  const int64_t regions = OmpRegionCount();
  CheckKernel<float>(spec, **conv, 1e-5);
  CHECK(OmpRegionCount() > regions);
  CHECK(CountThreads() == threads);
}

}  // namespace
}  // namespace hlo::cpu
