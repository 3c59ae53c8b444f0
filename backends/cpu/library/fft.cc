// See fft.h. The last dimension goes line by line, or, where lines are short, as many lines side by
// side as a vector has lanes; in the other dimensions neighbours in memory stand side by side.
#include "backends/cpu/library/fft.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/fft_line.h"
#include "backends/cpu/library/kernels.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kAlign = 64;

template <class T>
const FftKernels<T>& KernelsOf(const Host& host) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return KernelsFor(host.level).fft_f32;
  } else {
    return KernelsFor(host.level).fft_f64;
  }
}

// A whole number of cache lines.
template <class T>
int64_t Aligned(int64_t count) {
  return RoundUp(count, kAlign / int64_t{sizeof(T)});
}

// How the numbers of a line in memory become those that are transformed, and back. A line of an
// even number of real ones is taken as half as many complex ones.
template <class T>
class LineFormat {
 public:
  LineFormat(FftKind kind, int64_t length, const FftKernels<T>& kernels)
      : kind_(kind), kernels_(kernels), length_(length), half_(length / 2 + 1) {
    const bool is_real = kind == FftKind::kRealForward || kind == FftKind::kRealInverse;
    is_tangled_ = is_real && length % 2 == 0;
    is_inverse_ = kind == FftKind::kInverse || kind == FftKind::kRealInverse;
    if (!is_tangled_) return;
    for (int64_t k = 0; k < half_; ++k) roots_.Append(k, length, is_inverse_);
  }

  bool is_inverse() const { return is_inverse_; }
  // How many complex numbers are transformed.
  int64_t count() const { return is_tangled_ ? length_ / 2 : length_; }

  void Read(const T* input, int64_t line, const FftSplit<T>& to) const {
    if (kind_ == FftKind::kRealInverse) {
      ReadHalfSpectrum(input + 2 * half_ * line, to);
    } else if (kind_ == FftKind::kRealForward && !is_tangled_) {
      std::copy_n(input + length_ * line, length_, to.re);
      std::fill_n(to.im, length_, T{});
    } else {
      kernels_.split(input + 2 * count() * line, count(), to);
    }
  }

  void Write(const FftSplit<T>& from, int64_t line, T* output) const {
    const T scale = is_inverse_ ? T{1} / static_cast<T>(length_) : T{1};
    if (kind_ == FftKind::kRealForward) {
      T* const to = output + 2 * half_ * line;
      if (is_tangled_) return kernels_.untangle(from, count(), roots_.split(), to);
      kernels_.join(from, half_, scale, to);
    } else if (kind_ == FftKind::kRealInverse && !is_tangled_) {
      for (int64_t i = 0; i < length_; ++i) output[length_ * line + i] = from.re[i] * scale;
    } else {
      kernels_.join(from, count(), scale, output + 2 * count() * line);
    }
  }

 private:
  void ReadHalfSpectrum(const T* from, const FftSplit<T>& to) const {
    if (is_tangled_) return kernels_.tangle(from, count(), roots_.split(), to);
    kernels_.split(from, half_, to);
    to.im[0] = 0;
    for (int64_t i = half_; i < length_; ++i) {
      to.re[i] = to.re[length_ - i];
      to.im[i] = -to.im[length_ - i];
    }
  }

  FftKind kind_;
  const FftKernels<T>& kernels_;
  int64_t length_, half_;
  bool is_tangled_, is_inverse_;
  SplitTable<T> roots_;
};

// Transforms along the last dimension.
template <class T>
class LastDimension {
 public:
  LastDimension(FftKind kind, int64_t length, const FftKernels<T>& kernels)
      : kernels_(kernels), format_(kind, length, kernels) {
    const int64_t count = format_.count();
    part_ = Aligned<T>(count + kernels.lanes);
    if (count < 8 * kernels.lanes) {
      lanes_ = std::make_unique<FftLanes<T>>(count, format_.is_inverse(), kernels);
    } else {
      line_ = std::make_unique<FftLine<T>>(count, format_.is_inverse(), kernels);
    }
  }

  // Numbers of T that a worker needs.
  int64_t work_size() const {
    if (line_ != nullptr) return 4 * part_ + line_->work_size();
    return 2 * part_ + lanes_->block_size(lanes_->length()) + lanes_->work_size();
  }

  // Calls work(worker) for the memory of a worker.
  template <class Work>
  void Run(const T* input, T* output, int64_t lines, ThreadPool& pool, const Work& work) const {
    if (line_ != nullptr) {
      pool.ParallelFor(lines, [&](int64_t line, int worker) {
        T* const at = work(worker);
        const FftSplit<T> from = {at, at + part_}, to = {at + 2 * part_, at + 3 * part_};
        format_.Read(input, line, from);
        line_->Run(from, to, at + 4 * part_);
        format_.Write(to, line, output);
      });
      return;
    }
    const int64_t lanes = kernels_.lanes;
    pool.ParallelFor(CeilDiv(lines, lanes), [&](int64_t task, int worker) {
      RunBlock(input, output, task * lanes, std::min(lanes, lines - task * lanes), work(worker));
    });
  }

 private:
  void RunBlock(const T* input, T* output, int64_t first, int64_t lines, T* work) const {
    const FftSplit<T> line = {work, work + part_};
    T* const block = work + 2 * part_;
    const FftRows<T> rows = lanes_->Block(block);
    const int64_t count = lanes_->length(), size = lanes_->block_size(count);
    if (lines < kernels_.lanes) std::fill_n(block, size, T{});
    for (int64_t lane = 0; lane < lines; ++lane) {
      format_.Read(input, first + lane, line);
      for (int64_t i = 0; i < count; ++i) {
        rows.re[i * rows.stride + lane] = line.re[i];
        rows.im[i * rows.stride + lane] = line.im[i];
      }
    }
    lanes_->Run(rows, rows, block + size);
    for (int64_t lane = 0; lane < lines; ++lane) {
      for (int64_t i = 0; i < count; ++i) {
        line.re[i] = rows.re[i * rows.stride + lane];
        line.im[i] = rows.im[i * rows.stride + lane];
      }
      format_.Write(line, first + lane, output);
    }
  }

  const FftKernels<T>& kernels_;
  LineFormat<T> format_;
  int64_t part_;
  std::unique_ptr<FftLanes<T>> lanes_;  // short lines side by side; else
  std::unique_ptr<FftLine<T>> line_;    // one by one
};

// Transforms along a dimension before the last one, in place.
template <class T>
class OtherDimension {
 public:
  OtherDimension(int64_t length, bool is_inverse, const FftKernels<T>& kernels)
      : kernels_(kernels), lanes_(length, is_inverse, kernels) {
    scale_ = is_inverse ? T{1} / static_cast<T>(length) : T{1};
  }

  int64_t work_size() const { return lanes_.block_size(lanes_.length()) + lanes_.work_size(); }

  // `inner` complex numbers lie between neighbours.
  template <class Work>
  void Run(T* data, int64_t outer, int64_t inner, ThreadPool& pool, const Work& work) const {
    const int64_t lanes = kernels_.lanes, blocks = CeilDiv(inner, lanes);
    pool.ParallelFor(outer * blocks, [&](int64_t task, int worker) {
      const int64_t first = task % blocks * lanes;
      T* const from = data + 2 * (task / blocks * lanes_.length() * inner + first);
      RunBlock(from, inner, std::min(lanes, inner - first), work(worker));
    });
  }

 private:
  void RunBlock(T* data, int64_t inner, int64_t count, T* work) const {
    const int64_t size = lanes_.block_size(lanes_.length());
    const FftRows<T> rows = lanes_.Block(work);
    if (count < kernels_.lanes) std::fill_n(work, size, T{});
    for (int64_t i = 0; i < lanes_.length(); ++i) {
      kernels_.split(data + 2 * inner * i, count,
                     {rows.re + rows.stride * i, rows.im + rows.stride * i});
    }
    lanes_.Run(rows, rows, work + size);
    for (int64_t i = 0; i < lanes_.length(); ++i) {
      kernels_.join({rows.re + rows.stride * i, rows.im + rows.stride * i}, count, scale_,
                    data + 2 * inner * i);
    }
  }

  const FftKernels<T>& kernels_;
  FftLanes<T> lanes_;
  T scale_;
};

template <class T>
class Fft final : public FftKernel {
 public:
  Fft(FftSpec spec, const FftKernels<T>& kernels)
      : spec_(std::move(spec)),
        last_(spec_.kind, std::max<int64_t>(spec_.length.back(), 1), kernels) {
    is_inverse_ = spec_.kind == FftKind::kInverse || spec_.kind == FftKind::kRealInverse;
    real_in_ = spec_.kind == FftKind::kRealForward;
    real_out_ = spec_.kind == FftKind::kRealInverse;
    int64_t work = last_.work_size();
    for (size_t d = 0; d + 1 < spec_.length.size(); ++d) {
      others_.emplace_back(std::max<int64_t>(spec_.length[d], 1), is_inverse_, kernels);
      work = std::max(work, others_.back().work_size());
    }
    sizes_ = spec_.length;
    if (real_in_ || real_out_) sizes_.back() = spec_.length.back() / 2 + 1;
    total_ = spec_.batch;
    for (const int64_t size : sizes_) total_ *= size;
    worker_size_ = Aligned<T>(work);
    // The outer passes of a real inverse must not write to the input.
    copy_size_ = real_out_ && !others_.empty() ? Aligned<T>(2 * total_) : 0;
  }

  int64_t scratch_bytes() const override {
    return (copy_size_ + worker_size_ * spec_.threads) * int64_t{sizeof(T)};
  }

  void Run(const void* input, void* output, void* scratch, ThreadPool& pool) const override {
    const auto* const from = static_cast<const T*>(input);
    auto* const to = static_cast<T*>(output);
    if (total_ == 0 || *std::min_element(spec_.length.begin(), spec_.length.end()) == 0) {
      ClearOutput(to);
      return;
    }
    T* const copy = static_cast<T*>(scratch);
    const auto work = [&](int worker) { return copy + copy_size_ + worker_size_ * worker; };
    const int64_t lines = total_ / sizes_.back();
    if (real_out_ && !others_.empty()) {
      std::copy_n(from, 2 * total_, copy);
      RunOthers(copy, pool, work);
      last_.Run(copy, to, lines, pool, work);
      return;
    }
    last_.Run(from, to, lines, pool, work);
    RunOthers(to, pool, work);
  }

 private:
  void ClearOutput(T* output) const {
    int64_t count = spec_.batch;
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) count *= sizes_[d];
    std::fill_n(output, count * (real_out_ ? spec_.length.back() : 2 * sizes_.back()), T{});
  }

  template <class Work>
  void RunOthers(T* data, ThreadPool& pool, const Work& work) const {
    int64_t inner = total_ / spec_.batch, outer = spec_.batch;
    for (size_t d = 0; d < others_.size(); ++d) {
      inner /= sizes_[d];
      others_[d].Run(data, outer, inner, pool, work);
      outer *= sizes_[d];
    }
  }

  FftSpec spec_;
  LastDimension<T> last_;
  std::vector<OtherDimension<T>> others_;
  bool is_inverse_, real_in_, real_out_;
  absl::InlinedVector<int64_t, 3> sizes_;  // of the complex side
  int64_t total_;                          // complex elements
  int64_t worker_size_, copy_size_;        // in numbers of T
};

}  // namespace

absl::StatusOr<std::unique_ptr<FftKernel>> MakeFft(const FftSpec& spec, const Host& host) {
  RET_CHECK(!spec.length.empty() && spec.length.size() <= 3, "a transform of {} dimensions",
            spec.length.size());
  for (const int64_t length : spec.length)
    RET_CHECK(length >= 0, "a transform of length {}", length);
  if (spec.is_double) return std::make_unique<Fft<double>>(spec, KernelsOf<double>(host));
  return std::make_unique<Fft<float>>(spec, KernelsOf<float>(host));
}

}  // namespace hlo::cpu
