// See fft.h. One line at a time: a line is copied into working memory, transformed, and copied
// back; lines of a dimension are the tasks.
#include "backends/cpu/library/fft.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/fft_line.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kAlign = 64;

template <class T>
class Fft final : public FftKernel {
 public:
  explicit Fft(FftSpec spec) : spec_(std::move(spec)) {
    is_inverse_ = spec_.kind == FftKind::kInverse || spec_.kind == FftKind::kRealInverse;
    real_in_ = spec_.kind == FftKind::kRealForward;
    real_out_ = spec_.kind == FftKind::kRealInverse;
    int64_t work = 0;
    for (const int64_t length : spec_.length) {
      lines_.emplace_back(std::max<int64_t>(length, 1), is_inverse_);
      work = std::max(work, lines_.back().length() + lines_.back().work_size());
    }
    sizes_ = spec_.length;
    if (real_in_ || real_out_) sizes_.back() = spec_.length.back() / 2 + 1;
    total_ = spec_.batch;
    for (const int64_t size : sizes_) total_ *= size;
    worker_bytes_ = (work * int64_t{sizeof(Complex<T>)} + kAlign - 1) / kAlign * kAlign;
    // The outer passes of a real inverse must not write to the input.
    copy_bytes_ = real_out_ && sizes_.size() > 1
                      ? (total_ * int64_t{sizeof(Complex<T>)} + kAlign - 1) / kAlign * kAlign
                      : 0;
  }

  int64_t scratch_bytes() const override { return copy_bytes_ + worker_bytes_ * spec_.threads; }

  void Run(const void* input, void* output, void* scratch, ThreadPool& pool) const override {
    if (total_ == 0 || *std::min_element(spec_.length.begin(), spec_.length.end()) == 0) {
      ClearOutput(output);
      return;
    }
    char* const work = static_cast<char*>(scratch) + copy_bytes_;
    const size_t last = sizes_.size() - 1;
    if (real_out_) {
      const auto* data = static_cast<const Complex<T>*>(input);
      if (last > 0) {
        auto* const copy = static_cast<Complex<T>*>(scratch);
        std::copy_n(data, total_, copy);
        for (size_t d = 0; d < last; ++d) TransformAlong(d, copy, work, pool);
        data = copy;
      }
      RealInverse(data, static_cast<T*>(output), work, pool);
      return;
    }
    auto* const data = static_cast<Complex<T>*>(output);
    if (real_in_) {
      RealForward(static_cast<const T*>(input), data, work, pool);
    } else {
      if (input != output) std::copy_n(static_cast<const Complex<T>*>(input), total_, data);
      TransformAlong(last, data, work, pool);
    }
    for (size_t d = 0; d < last; ++d) TransformAlong(d, data, work, pool);
  }

 private:
  void ClearOutput(void* output) const {
    int64_t count = spec_.batch;
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) count *= sizes_[d];
    if (real_out_) {
      std::fill_n(static_cast<T*>(output), count * spec_.length.back(), T{});
    } else {
      std::fill_n(static_cast<Complex<T>*>(output), count * sizes_.back(), Complex<T>{});
    }
  }

  Complex<T>* WorkOf(char* work, int worker) const {
    return reinterpret_cast<Complex<T>*>(work + worker_bytes_ * worker);
  }

  // All lines of dimension d, in place, scaled if inverse.
  void TransformAlong(size_t d, Complex<T>* data, char* work, ThreadPool& pool) const {
    const FftLine<T>& line = lines_[d];
    const int64_t n = line.length();
    int64_t stride = 1;
    for (size_t e = d + 1; e < sizes_.size(); ++e) stride *= sizes_[e];
    const T scale = is_inverse_ ? T{1} / static_cast<T>(n) : T{1};
    pool.ParallelFor(total_ / n, [&](int64_t index, int worker) {
      Complex<T>* const from = data + index / stride * n * stride + index % stride;
      Complex<T>* const buffer = WorkOf(work, worker);
      for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * stride];
      line.Run(buffer, buffer + n);
      for (int64_t i = 0; i < n; ++i) from[i * stride] = buffer[i] * scale;
    });
  }

  void RealForward(const T* input, Complex<T>* output, char* work, ThreadPool& pool) const {
    const FftLine<T>& line = lines_.back();
    const int64_t n = line.length(), half = sizes_.back();
    pool.ParallelFor(total_ / half, [&](int64_t index, int worker) {
      Complex<T>* const buffer = WorkOf(work, worker);
      for (int64_t i = 0; i < n; ++i) buffer[i] = {input[index * n + i], T{}};
      line.Run(buffer, buffer + n);
      std::copy_n(buffer, half, output + index * half);
    });
  }

  void RealInverse(const Complex<T>* input, T* output, char* work, ThreadPool& pool) const {
    const FftLine<T>& line = lines_.back();
    const int64_t n = line.length(), half = sizes_.back();
    const T scale = T{1} / static_cast<T>(n);
    pool.ParallelFor(total_ / half, [&](int64_t index, int worker) {
      Complex<T>* const buffer = WorkOf(work, worker);
      const Complex<T>* const from = input + index * half;
      std::copy_n(from, std::min(half, n), buffer);
      buffer[0].im = T{};
      if (n % 2 == 0) buffer[n / 2].im = T{};
      for (int64_t i = 1; i < (n + 1) / 2; ++i) buffer[n - i] = {buffer[i].re, -buffer[i].im};
      line.Run(buffer, buffer + n);
      for (int64_t i = 0; i < n; ++i) output[index * n + i] = buffer[i].re * scale;
    });
  }

  FftSpec spec_;
  bool is_inverse_, real_in_, real_out_;
  std::vector<FftLine<T>> lines_;          // one for each transformed dimension
  absl::InlinedVector<int64_t, 3> sizes_;  // of the complex side
  int64_t total_;                          // complex elements
  int64_t worker_bytes_, copy_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FftKernel>> MakeFft(const FftSpec& spec) {
  RET_CHECK(!spec.length.empty() && spec.length.size() <= 3, "a transform of {} dimensions",
            spec.length.size());
  for (const int64_t length : spec.length)
    RET_CHECK(length >= 0, "a transform of length {}", length);
  if (spec.is_double) return std::make_unique<Fft<double>>(spec);
  return std::make_unique<Fft<float>>(spec);
}

}  // namespace hlo::cpu
