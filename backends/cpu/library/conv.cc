#include "backends/cpu/library/conv.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/convert.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

absl::Status CheckSpec(const ConvSpec& spec) {
  RET_CHECK(IsArrayType(spec.lhs_type) && IsArrayType(spec.rhs_type) && IsArrayType(spec.out_type),
            "a convolution of types without elements");
  RET_CHECK(spec.feature_groups >= 1 && spec.batch_groups >= 1, "a convolution without groups");
  RET_CHECK(spec.in_features % spec.feature_groups == 0 &&
                spec.out_features % spec.feature_groups == 0 &&
                spec.out_features % spec.batch_groups == 0 && spec.batch % spec.batch_groups == 0,
            "groups do not divide the features or the batch of a convolution");
  RET_CHECK(spec.threads >= 1, "a convolution for {} threads", spec.threads);
  for (const ConvDim& d : spec.spatial) {
    RET_CHECK(d.in >= 0 && d.kernel >= 0 && d.out >= 0 && d.stride >= 1 && d.lhs_dilation >= 1 &&
                  d.rhs_dilation >= 1,
              "a spatial dimension of a convolution with impossible numbers");
  }
  if (IsComplex(spec.out_type)) {
    return Unsupported(SourceLoc(), "the CPU library has no convolution of `{}`",
                       Text(spec.out_type));
  }
  return absl::OkStatus();
}

// Multiply-adds below which one thread is done before another one has begun.
constexpr int64_t kSerialConvWork = 100'000;

int64_t MultiplyAdds(const ConvSpec& spec) {
  int64_t work =
      spec.out_batch_size() * spec.out_features * (spec.in_features / spec.feature_groups);
  for (const ConvDim& d : spec.spatial) {
    if (work >= kSerialConvWork) return work;  // the rest could overflow
    work *= d.out * d.kernel;
  }
  return work;
}

// A small convolution: whatever library computes it, it has no use for other threads.
class SerialConv final : public ConvKernel {
 public:
  explicit SerialConv(std::unique_ptr<ConvKernel> conv) : conv_(std::move(conv)) {}
  int64_t scratch_bytes() const override { return conv_->scratch_bytes(); }
  std::string_view engine() const override { return conv_->engine(); }
  absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const override {
    return conv_->MakeState();
  }
  absl::Status Run(const ConvBuffers& buffers, ThreadPool&) const override {
    return conv_->Run(buffers, serial_);
  }

 private:
  std::unique_ptr<ConvKernel> conv_;
  mutable ThreadPool serial_{1};  // runs everything in the thread that calls it, and keeps nothing
};

// Nothing is summed: a result of zeros. Also empty results.
class ZeroConv final : public ConvKernel {
 public:
  explicit ZeroConv(ConvSpec spec) : spec_(std::move(spec)) {}
  int64_t scratch_bytes() const override { return 0; }
  std::string_view engine() const override { return "zero"; }
  absl::Status Run(const ConvBuffers& buffers, ThreadPool&) const override {
    absl::InlinedVector<int64_t, 6> sizes = {spec_.out_batch_size()};
    absl::InlinedVector<int64_t, 6> strides = {spec_.out_batch};
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.out);
      strides.push_back(d.out_stride);
    }
    int64_t positions = 1;
    for (const int64_t size : sizes) positions *= size;
    for (int64_t o = 0; o < spec_.out_features; ++o) {
      const std::vector<float> values(static_cast<size_t>(positions));
      char* const out =
          static_cast<char*>(buffers.out) + o * spec_.out_feature * ByteSize(spec_.out_type);
      WriteBlock(values.data(), spec_.out_type, Component::kReal, {sizes, strides}, out);
    }
    return absl::OkStatus();
  }

 private:
  ConvSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvKernel>> MakeConv(const ConvSpec& spec, const Host& host) {
  RETURN_IF_ERROR(CheckSpec(spec));
  bool nothing = spec.in_features == 0 || spec.out_features == 0 || spec.batch == 0;
  for (const ConvDim& d : spec.spatial) nothing |= d.in == 0 || d.kernel == 0 || d.out == 0;
  if (nothing) return std::make_unique<ZeroConv>(spec);
  if (spec.threads > 1 && MultiplyAdds(spec) < kSerialConvWork) {
    ConvSpec serial = spec;
    serial.threads = 1;
    ASSIGN_OR_RETURN(std::unique_ptr<ConvKernel> conv, MakeConv(serial, host));
    return std::make_unique<SerialConv>(std::move(conv));
  }
  std::unique_ptr<ConvKernel> conv = MakeRowConv(spec, host);
  if (conv == nullptr) {
    ASSIGN_OR_RETURN(conv, MakeOneDnnConv(spec, host));
  }
  if (conv == nullptr) conv = MakeImplicitConv(spec, host);
  if (conv == nullptr) {
    ASSIGN_OR_RETURN(conv, MakeGemmConv(spec, host));
  }
  return WithoutPadding(std::move(conv), spec);
}

}  // namespace hlo::cpu
