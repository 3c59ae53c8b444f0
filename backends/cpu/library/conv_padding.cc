// Padding is not there: a result that sees some is the sum of the products that there are. The
// implementations multiply zeros in its place, which makes no difference but where the kernel is
// infinite or NaN. That shows at the corners of the result, where each tap that ever meets padding
// meets it; then the results beside padding that are NaN are computed again, one by one.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "backends/cpu/library/conv.h"
#include "backends/cpu/library/convert.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// An element of the kernel, and the one of lhs that it meets: offsets along one dimension.
struct Meeting {
  int64_t rhs = 0, lhs = 0;
};

// Of a result at place `s` of a dimension: all taps but those that meet padding.
std::vector<Meeting> MeetingsAt(const ConvDim& d, int64_t s) {
  std::vector<Meeting> meetings;
  for (int64_t t = 0; t < d.kernel; ++t) {
    const int64_t place = s * d.stride + t * d.rhs_dilation - d.pad_low;
    if (place < 0 || place % d.lhs_dilation != 0 || place / d.lhs_dilation >= d.in) continue;
    meetings.push_back({(d.reversed ? d.kernel - 1 - t : t) * d.rhs_stride,
                        place / d.lhs_dilation * d.lhs_stride});
  }
  return meetings;
}

using Place = absl::InlinedVector<int64_t, 3>;

// Calls `fn` for each choice of one of `choices` for each dimension, while it gives false; whether
// it has given true.
template <class T, class Fn>
bool AnyChoice(const std::vector<std::vector<T>>& choices, const Fn& fn) {
  for (const std::vector<T>& own : choices) {
    if (own.empty()) return false;
  }
  std::vector<size_t> at(choices.size(), 0);
  while (true) {
    if (fn(at)) return true;
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == choices[d - 1].size()) at[--d] = 0;
    if (d == 0) return false;
  }
}

// T: in what is summed, float or double.
template <class T>
class PaddedConv final : public ConvKernel {
 public:
  PaddedConv(std::unique_ptr<ConvKernel> conv, ConvSpec spec)
      : conv_(std::move(conv)), spec_(std::move(spec)) {
    for (const ConvDim& d : spec_.spatial) {
      std::vector<int64_t>& corners = corners_.emplace_back();
      std::vector<int64_t>& all = all_.emplace_back();
      for (int64_t s = 0; s < d.out; ++s) {
        all.push_back(s);
        if (s < d.lhs_dilation || s >= d.out - d.lhs_dilation) corners.push_back(s);
      }
    }
  }

  int64_t scratch_bytes() const override { return conv_->scratch_bytes(); }
  std::string_view engine() const override { return conv_->engine(); }
  absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const override {
    return conv_->MakeState();
  }

  absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const override {
    RETURN_IF_ERROR(conv_->Run(buffers, pool));
    std::vector<T> values(static_cast<size_t>(spec_.out_features));
    const bool is_suspect = AnyChoice(corners_, [&](const std::vector<size_t>& at) {
      ReadResults(buffers, /*batch=*/0, PlaceOf(corners_, at), values);
      return std::any_of(values.begin(), values.end(), [](T x) { return std::isnan(x); });
    });
    if (!is_suspect) return absl::OkStatus();
    AnyChoice(all_, [&](const std::vector<size_t>& at) {
      RepairAt(buffers, PlaceOf(all_, at), values);
      return false;
    });
    return absl::OkStatus();
  }

 private:
  static Place PlaceOf(const std::vector<std::vector<int64_t>>& choices,
                       const std::vector<size_t>& at) {
    Place place;
    for (size_t d = 0; d < at.size(); ++d) place.push_back(choices[d][at[d]]);
    return place;
  }

  char* ResultAt(const ConvBuffers& buffers, int64_t batch, const Place& place) const {
    int64_t offset = batch * spec_.out_batch;
    for (size_t d = 0; d < place.size(); ++d) offset += place[d] * spec_.spatial[d].out_stride;
    return static_cast<char*>(buffers.out) + offset * ByteSize(spec_.out_type);
  }

  void Read(ElementType type, const void* base, int64_t offset, int64_t count, int64_t stride,
            T* to) const {
    ReadBlock(type, spec_.out_type, Component::kReal,
              static_cast<const char*>(base) + offset * ByteSize(type), {{&count, 1}, {&stride, 1}},
              to);
  }

  void ReadResults(const ConvBuffers& buffers, int64_t batch, const Place& place,
                   std::vector<T>& values) const {
    Read(spec_.out_type, ResultAt(buffers, batch, place), 0, spec_.out_features, spec_.out_feature,
         values.data());
  }

  void RepairAt(const ConvBuffers& buffers, const Place& place, std::vector<T>& values) const {
    std::vector<std::vector<Meeting>> meetings;
    bool sees_padding = false;
    for (size_t d = 0; d < place.size(); ++d) {
      meetings.push_back(MeetingsAt(spec_.spatial[d], place[d]));
      sees_padding |= std::ssize(meetings.back()) < spec_.spatial[d].kernel;
    }
    if (!sees_padding) return;
    for (int64_t batch = 0; batch < spec_.out_batch_size(); ++batch) {
      ReadResults(buffers, batch, place, values);
      bool is_changed = false;
      for (int64_t o = 0; o < spec_.out_features; ++o) {
        T& value = values[static_cast<size_t>(o)];
        if (!std::isnan(value)) continue;
        value = SumOf(buffers, batch, o, meetings);
        is_changed = true;
      }
      if (!is_changed) continue;
      WriteBlock(values.data(), spec_.out_type, Component::kReal,
                 {{&spec_.out_features, 1}, {&spec_.out_feature, 1}},
                 ResultAt(buffers, batch, place));
    }
  }

  T SumOf(const ConvBuffers& buffers, int64_t batch, int64_t o,
          const std::vector<std::vector<Meeting>>& meetings) const {
    const int64_t features = spec_.in_features / spec_.feature_groups;
    const int64_t group = o / (spec_.out_features / spec_.feature_groups);
    const int64_t batch_group = o / (spec_.out_features / spec_.batch_groups);
    const int64_t lhs_begin = (batch_group * spec_.out_batch_size() + batch) * spec_.lhs_batch +
                              group * features * spec_.lhs_feature;
    std::vector<T> x(static_cast<size_t>(features)), y(x.size());
    T sum = 0;
    AnyChoice(meetings, [&](const std::vector<size_t>& at) {
      int64_t lhs = lhs_begin, rhs = o * spec_.rhs_out;
      for (size_t d = 0; d < at.size(); ++d) {
        lhs += meetings[d][at[d]].lhs;
        rhs += meetings[d][at[d]].rhs;
      }
      Read(spec_.lhs_type, buffers.lhs, lhs, features, spec_.lhs_feature, x.data());
      Read(spec_.rhs_type, buffers.rhs, rhs, features, spec_.rhs_in, y.data());
      for (size_t z = 0; z < x.size(); ++z) sum += x[z] * y[z];
      return false;
    });
    return sum;
  }

  const std::unique_ptr<ConvKernel> conv_;
  const ConvSpec spec_;
  std::vector<std::vector<int64_t>> corners_, all_;  // places of the result, by dimension
};

}  // namespace

std::unique_ptr<ConvKernel> WithoutPadding(std::unique_ptr<ConvKernel> conv, const ConvSpec& spec) {
  bool sees_padding = false;
  for (const ConvDim& d : spec.spatial)
    sees_padding |= d.pad_low > 0 || d.pad_high > 0 || d.lhs_dilation > 1;
  if (!sees_padding || !IsFloat(spec.out_type)) return conv;
  if (spec.out_type == ElementType::kF64)
    return std::make_unique<PaddedConv<double>>(std::move(conv), spec);
  return std::make_unique<PaddedConv<float>>(std::move(conv), spec);
}

}  // namespace hlo::cpu
