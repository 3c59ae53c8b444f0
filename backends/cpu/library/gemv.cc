// Products with at most four rows or four columns (dot_engines.h): the big operand is read once, at
// the speed of memory, and never packed.
//
// Work is split along the long side of the result; where that side is short and k long, also along
// k, into parts that depend on the shape only, so that sums do not depend on the number of threads.
#include <algorithm>
#include <cstring>

#include "backends/cpu/library/dot_engines.h"
#include "lib/support/round.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kSerialElements = 16'000;  // elements of the matrix that one thread reads alone
constexpr int64_t kColumnChunk = 16;         // chunks of the long side are multiples of this
constexpr int64_t kSumElements = 2048;       // sums that stay in the first cache
constexpr int64_t kMinPartDepth = 4096;      // k per part, at least
constexpr int64_t kMaxParts = 16;
constexpr int64_t kNarrow = 512;  // results narrower than this are split along k

int64_t BytesOf(StoredAs as) { return as == StoredAs::kSame ? 4 : 2; }

float ReadFloat(const void* base, StoredAs as, int64_t index) {
  switch (as) {
    case StoredAs::kBf16: return static_cast<const BF16*>(base)[index].ToFloat();
    case StoredAs::kF16: return static_cast<const F16*>(base)[index].ToFloat();
    case StoredAs::kSame:
    case StoredAs::kS8:
    case StoredAs::kU8:
    case StoredAs::kS16:
    case StoredAs::kU16: break;
  }
  return static_cast<const float*>(base)[index];
}

class Gemv final : public DotKernel {
 public:
  // `spec` has at most four rows; `swapped` tells that it is the transpose of what the caller
  // asked.
  Gemv(const DotSpec& spec, const DotTypes& types, bool swapped, const Host& host)
      : spec_(spec), types_(types), swapped_(swapped), kernels_(KernelsFor(host.level)) {
    by_row_ = spec_.rhs_n != 1 && (spec_.rhs_k == 1 || spec_.k == 1);
    batches_ = BatchCount(spec_);
    const int64_t depth_parts = std::min(kMaxParts, spec_.k / kMinPartDepth);
    parts_ = batches_ == 1 && spec_.n < kNarrow && depth_parts > 1 ? depth_parts : 1;
    chunks_ = 1;
    if (batches_ * spec_.n * spec_.k >= kSerialElements && batches_ * parts_ < spec_.threads) {
      chunks_ = std::min<int64_t>(spec_.threads, CeilDiv(spec_.n, kColumnChunk));
    }
    copies_x_ = types_.lhs != StoredAs::kSame || (spec_.lhs_k != 1 && spec_.k > 1);
    direct_ = types_.out == StoredAs::kSame && parts_ == 1 && (spec_.out_n == 1 || spec_.n == 1);
    x_bytes_ = copies_x_ ? AlignScratch(batches_ * spec_.m * spec_.k * 4) : 0;
    sums_bytes_ = direct_ ? 0 : AlignScratch(batches_ * parts_ * spec_.m * spec_.n * 4);
  }

  int64_t scratch_bytes() const override { return x_bytes_ + sums_bytes_; }
  std::string_view engine() const override { return "gemv"; }

  void Run(const DotBuffers& buffers, ThreadPool& pool) const override {
    const void* lhs = swapped_ ? buffers.rhs : buffers.lhs;
    const void* rhs = swapped_ ? buffers.lhs : buffers.rhs;
    auto* const copied_x = static_cast<float*>(buffers.scratch);
    auto* const sums = reinterpret_cast<float*>(static_cast<char*>(buffers.scratch) + x_bytes_);
    if (copies_x_) CopyVectors(lhs, copied_x);
    const int64_t tasks = batches_ * parts_ * chunks_;
    auto task = [&](int64_t index, int) {
      const int64_t chunk = index % chunks_;
      const int64_t part = index / chunks_ % parts_;
      const int64_t batch = index / chunks_ / parts_;
      const DotBatch offset = BatchOffsets(spec_, batch);
      const float* x = copies_x_ ? copied_x + batch * spec_.m * spec_.k
                                 : static_cast<const float*>(lhs) + offset.lhs;
      const int64_t groups = CeilDiv(spec_.n, kColumnChunk);
      const int64_t n0 = groups * chunk / chunks_ * kColumnChunk;
      const int64_t n1 = std::min(spec_.n, groups * (chunk + 1) / chunks_ * kColumnChunk);
      const int64_t k0 = spec_.k * part / parts_;
      const int64_t k1 = spec_.k * (part + 1) / parts_;
      float* out = direct_ ? static_cast<float*>(buffers.out) + offset.out
                           : sums + (batch * parts_ + part) * spec_.m * spec_.n;
      const int64_t out_stride = direct_ ? spec_.out_m : spec_.n;
      const char* matrix = static_cast<const char*>(rhs) + offset.rhs * BytesOf(types_.rhs);
      Multiply(x + (copies_x_ ? k0 : k0 * spec_.lhs_k), matrix, n0, n1, k0, k1 - k0, out,
               out_stride);
      if (!direct_ && parts_ == 1) Finish(buffers, out, offset.out, n0, n1);
    };
    if (tasks == 1 || batches_ * spec_.n * spec_.k < kSerialElements) {
      for (int64_t index = 0; index < tasks; ++index) task(index, 0);
    } else {
      pool.ParallelFor(tasks, task);
    }
    if (parts_ > 1) {
      AddParts(sums);
      Finish(buffers, sums, 0, 0, spec_.n);
    }
  }

 private:
  // The vectors as contiguous floats.
  void CopyVectors(const void* lhs, float* x) const {
    for (int64_t batch = 0; batch < batches_; ++batch) {
      const int64_t base = BatchOffsets(spec_, batch).lhs;
      for (int64_t m = 0; m < spec_.m; ++m) {
        for (int64_t k = 0; k < spec_.k; ++k) {
          *x++ = ReadFloat(lhs, types_.lhs, base + m * spec_.lhs_m + k * spec_.lhs_k);
        }
      }
    }
  }

  // Columns [n0, n1) of the product over `depth` values of k from k0; x points at its k0.
  void Multiply(const float* x, const char* matrix, int64_t n0, int64_t n1, int64_t k0,
                int64_t depth, float* out, int64_t out_stride) const {
    const int as = static_cast<int>(types_.rhs);
    const int64_t x_stride = copies_x_ ? spec_.k : spec_.lhs_m;
    const auto vectors = static_cast<int>(spec_.m);
    const int64_t bytes = BytesOf(types_.rhs);
    if (by_row_) {
      kernels_.gemv.by_row[as](vectors, n1 - n0, depth, x, x_stride,
                               matrix + (n0 * spec_.rhs_n + k0) * bytes, spec_.rhs_n, out + n0,
                               out_stride);
      return;
    }
    const int64_t step = kSumElements / vectors / kColumnChunk * kColumnChunk;
    for (int64_t n = n0; n < n1; n += step) {
      kernels_.gemv.by_column[as](vectors, std::min(step, n1 - n), depth, x, x_stride,
                                  matrix + (k0 * spec_.rhs_k + n) * bytes, spec_.rhs_k, out + n,
                                  out_stride);
    }
  }

  // Adds the partial sums, in order, into the first.
  void AddParts(float* sums) const {
    const int64_t count = spec_.m * spec_.n;
    for (int64_t part = 1; part < parts_; ++part) {
      for (int64_t i = 0; i < count; ++i) sums[i] += sums[part * count + i];
    }
  }

  // Rounds and stores columns [n0, n1).
  void Finish(const DotBuffers& buffers, const float* sums, int64_t out_offset, int64_t n0,
              int64_t n1) const {
    char* out =
        static_cast<char*>(buffers.out) + (out_offset + n0 * spec_.out_n) * BytesOf(types_.out);
    kernels_.f32.store[static_cast<int>(types_.out)](sums + n0, spec_.n, static_cast<int>(spec_.m),
                                                     static_cast<int>(n1 - n0), out, spec_.out_m,
                                                     spec_.out_n);
  }

  DotSpec spec_;
  DotTypes types_;
  bool swapped_;
  const KernelTable& kernels_;
  bool by_row_;
  bool copies_x_;
  bool direct_;
  int64_t batches_, parts_, chunks_;
  int64_t x_bytes_, sums_bytes_;
};

// The product transposed: columns become rows.
void Transpose(DotSpec& spec, DotTypes& types) {
  std::swap(spec.m, spec.n);
  std::swap(spec.out_m, spec.out_n);
  std::swap(spec.lhs_m, spec.rhs_n);
  std::swap(spec.lhs_k, spec.rhs_k);
  std::swap(types.lhs, types.rhs);
  for (DotBatch& batch : spec.batch) std::swap(batch.lhs, batch.rhs);
}

bool SuitsAsIs(const DotSpec& spec) {
  return spec.m <= GemvKernels::kMaxVectors && spec.n < INT32_MAX &&
         (spec.rhs_n == 1 || spec.rhs_k == 1 || spec.n == 1 || spec.k == 1);
}

}  // namespace

bool GemvSuits(const DotSpec& spec, const DotTypes& types) {
  if (types.compute != ComputeType::kF32) return false;
  DotSpec swapped = spec;
  DotTypes swapped_types = types;
  Transpose(swapped, swapped_types);
  return SuitsAsIs(spec) || SuitsAsIs(swapped);
}

std::unique_ptr<DotKernel> MakeGemv(const DotSpec& spec, const DotTypes& types, const Host& host) {
  DotSpec chosen = spec;
  DotTypes chosen_types = types;
  // With few rows and few columns the longer side becomes the one that is split.
  Transpose(chosen, chosen_types);
  const bool swap = SuitsAsIs(chosen) && (!SuitsAsIs(spec) || spec.m > spec.n);
  if (!swap) {
    chosen = spec;
    chosen_types = types;
  }
  return std::make_unique<Gemv>(chosen, chosen_types, swap, host);
}

}  // namespace hlo::cpu
