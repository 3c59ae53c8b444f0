// Convolutions with few results per group (conv.h), along rows that are contiguous in memory: one
// channel of sound or of an image, each channel by itself. As matrix products they would have too
// few columns.
//
//   out row = sum over taps and features of weight * (row of lhs, shifted)
//
// Where there is padding, lhs is copied with the zeros that it stands for.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/library/conv.h"
#include "backends/cpu/library/dot_engines.h"
#include "backends/cpu/library/kernels.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMostResults = 3;        // per group; more are the columns of a product
constexpr int64_t kShortestRow = 12;       // below, most lanes would have nothing to do
constexpr int64_t kMostCopied = 1 << 22;   // elements
constexpr int64_t kWorkPerTask = 1 << 16;  // multiply-adds

template <class T>
class RowConv final : public ConvKernel {
 public:
  RowConv(const ConvSpec& spec, size_t row, const Host& host)
      : spec_(spec), row_(row), kernel_(KernelsFor(host.level).template rows<T>()) {
    for (const ConvDim& d : spec_.spatial) {
      is_padded_ |= d.pad_low > 0 || d.pad_high > 0;
      positions_ *= d.out;
      taps_ *= d.kernel;
    }
    LayOut();
    FindTaps();
  }

  int64_t copied() const { return is_padded_ ? spec_.batch * batch_step_ : 0; }
  int64_t scratch_bytes() const override {
    return AlignScratch(copied() * int64_t{sizeof(T)}) +
           AlignScratch(spec_.out_features * std::ssize(offsets_) * int64_t{sizeof(T)});
  }
  std::string_view engine() const override { return "rows"; }

  absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const override {
    const T* lhs = static_cast<const T*>(buffers.lhs);
    T* const padded = static_cast<T*>(buffers.scratch);
    T* const weights = reinterpret_cast<T*>(static_cast<char*>(buffers.scratch) +
                                            AlignScratch(copied() * int64_t{sizeof(T)}));
    if (is_padded_) {
      pool.ParallelFor(spec_.batch * spec_.in_features,
                       [&](int64_t plane, int) { CopyPlane(lhs, plane, padded); });
      lhs = padded;
    }
    const int64_t count = std::ssize(offsets_);
    for (int64_t o = 0; o < spec_.out_features; ++o)
      CopyWeights(static_cast<const T*>(buffers.rhs), o, weights + o * count);
    const int64_t length = spec_.spatial[row_].out;
    const int64_t rows = spec_.batch * spec_.out_features * (positions_ / length);
    pool.ParallelRanges(rows, std::max<int64_t>(1, kWorkPerTask / (length * count)),
                        [&](int64_t begin, int64_t end, int) {
                          for (int64_t i = begin; i < end; ++i)
                            RunRow(lhs, weights, i, static_cast<T*>(buffers.out));
                        });
    return absl::OkStatus();
  }

 private:
  static int64_t PaddedSize(const ConvDim& d) {
    return d.in + std::max<int64_t>(d.pad_low, 0) + std::max<int64_t>(d.pad_high, 0);
  }

  // Where lhs, or its copy, has its elements.
  void LayOut() {
    steps_.resize(spec_.spatial.size());
    feature_step_ = spec_.lhs_feature;
    batch_step_ = spec_.lhs_batch;
    for (size_t d = 0; d < steps_.size(); ++d) steps_[d] = spec_.spatial[d].lhs_stride;
    if (!is_padded_) return;
    steps_[row_] = 1;
    int64_t step = PaddedSize(spec_.spatial[row_]);
    for (size_t d = 0; d < steps_.size(); ++d) {
      if (d == row_) continue;
      steps_[d] = step;
      step *= PaddedSize(spec_.spatial[d]);
    }
    feature_step_ = step;
    batch_step_ = step * spec_.in_features;
  }

  // Of each feature of a group and each tap: how far from the place of the result it reads.
  void FindTaps() {
    for (int64_t z = 0; z < spec_.in_features / spec_.feature_groups; ++z) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        int64_t rest = tap, offset = z * feature_step_, weight = z * spec_.rhs_in;
        for (size_t d = spec_.spatial.size(); d-- > 0;) {
          const ConvDim& dim = spec_.spatial[d];
          const int64_t k = rest % dim.kernel;
          rest /= dim.kernel;
          // What padding puts before the input is in the copy; what it cuts off is passed over.
          offset += (k * dim.rhs_dilation + std::max<int64_t>(-dim.pad_low, 0)) * steps_[d];
          weight += (dim.reversed ? dim.kernel - 1 - k : k) * dim.rhs_stride;
        }
        offsets_.push_back(offset);
        weights_.push_back(weight);
      }
    }
  }

  void CopyWeights(const T* rhs, int64_t o, T* weights) const {
    for (size_t i = 0; i < weights_.size(); ++i) weights[i] = rhs[o * spec_.rhs_out + weights_[i]];
  }

  void CopyPlane(const T* lhs, int64_t plane, T* padded) const {
    const int64_t image = plane / spec_.in_features, feature = plane % spec_.in_features;
    lhs += image * spec_.lhs_batch + feature * spec_.lhs_feature;
    padded += plane * feature_step_;
    std::memset(padded, 0, static_cast<size_t>(feature_step_) * sizeof(T));
    int64_t rows = 1;
    for (size_t d = 0; d < steps_.size(); ++d) {
      padded += std::max<int64_t>(spec_.spatial[d].pad_low, 0) * steps_[d];
      if (d != row_) rows *= spec_.spatial[d].in;
    }
    const auto bytes = static_cast<size_t>(spec_.spatial[row_].in) * sizeof(T);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t rest = i, from = 0, to = 0;
      for (size_t d = 0; d < steps_.size(); ++d) {
        if (d == row_) continue;
        from += rest % spec_.spatial[d].in * spec_.spatial[d].lhs_stride;
        to += rest % spec_.spatial[d].in * steps_[d];
        rest /= spec_.spatial[d].in;
      }
      std::memcpy(padded + to, lhs + from, bytes);
    }
  }

  void RunRow(const T* lhs, const T* weights, int64_t row, T* out) const {
    const int64_t o = row % spec_.out_features;
    row /= spec_.out_features;
    const int64_t group = o / (spec_.out_features / spec_.feature_groups);
    lhs += group * (spec_.in_features / spec_.feature_groups) * feature_step_;
    out += o * spec_.out_feature;
    for (size_t d = 0; d < steps_.size(); ++d) {
      if (d == row_) continue;
      const ConvDim& dim = spec_.spatial[d];
      lhs += row % dim.out * dim.stride * steps_[d];
      out += row % dim.out * dim.out_stride;
      row /= dim.out;
    }
    lhs += row * batch_step_;
    out += row * spec_.out_batch;
    const int64_t count = std::ssize(offsets_);
    kernel_(lhs, offsets_.data(), weights + o * count, count, out, spec_.spatial[row_].out);
  }

  ConvSpec spec_;
  size_t row_;  // the dimension whose elements are neighbours
  RowsFn<T> kernel_;
  bool is_padded_ = false;
  int64_t positions_ = 1, taps_ = 1;
  std::vector<int64_t> steps_;  // of spatial dimensions
  int64_t feature_step_ = 0, batch_step_ = 0;
  std::vector<int64_t> offsets_, weights_;
};

// The dimension along which all elements are neighbours and each is a result.
std::optional<size_t> RowOf(const ConvSpec& spec) {
  for (size_t d = 0; d < spec.spatial.size(); ++d) {
    const ConvDim& dim = spec.spatial[d];
    if (dim.lhs_stride == 1 && dim.out_stride == 1 && dim.stride == 1 && dim.out >= kShortestRow)
      return d;
  }
  return std::nullopt;
}

template <class T>
std::unique_ptr<ConvKernel> Make(const ConvSpec& spec, size_t row, const Host& host) {
  auto conv = std::make_unique<RowConv<T>>(spec, row, host);
  if (conv->copied() > kMostCopied) return nullptr;
  return conv;
}

}  // namespace

std::unique_ptr<ConvKernel> MakeRowConv(const ConvSpec& spec, const Host& host) {
  if (spec.lhs_type != spec.rhs_type || spec.lhs_type != spec.out_type) return nullptr;
  if (spec.batch_groups != 1 || spec.out_features / spec.feature_groups > kMostResults)
    return nullptr;
  int64_t taps = 1;
  for (const ConvDim& d : spec.spatial) {
    if (d.lhs_dilation != 1) return nullptr;
    taps *= d.kernel;
  }
  if (taps == 1) return nullptr;  // a product, with rows as its columns
  const std::optional<size_t> row = RowOf(spec);
  if (!row) return nullptr;
  if (spec.lhs_type == ElementType::kF32) return Make<float>(spec, *row, host);
  if (spec.lhs_type == ElementType::kF64) return Make<double>(spec, *row, host);
  return nullptr;
}

}  // namespace hlo::cpu
