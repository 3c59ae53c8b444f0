// Cholesky factors (linalg.h), by blocks of columns from the left: a block is first reduced by the
// product of what is already factored, then factored by itself.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/library/linalg.h"
#include "backends/cpu/library/linalg_common.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kBlock = 64;

template <class T>
class Cholesky final : public LinalgKernel {
 public:
  static absl::StatusOr<std::unique_ptr<LinalgKernel>> Create(const CholeskySpec& spec,
                                                              const Host& host) {
    std::unique_ptr<Cholesky> made(new Cholesky(spec));
    if constexpr (kHasProducts<T>) {
      for (int64_t start = kBlock; start < spec.n; start += kBlock) {
        DotSpec dot;
        dot.lhs_type = dot.rhs_type = dot.out_type = kProductType<T>;
        dot.m = spec.n - start;
        dot.n = std::min(kBlock, spec.n - start);
        dot.k = start;
        dot.lhs_m = dot.rhs_n = spec.n;
        dot.lhs_k = dot.rhs_k = 1;
        dot.out_m = kBlock;
        dot.out_n = 1;
        dot.threads = spec.threads;
        ASSIGN_OR_RETURN(std::unique_ptr<DotKernel> product, MakeDot(dot, host));
        made->dot_bytes_ = std::max(made->dot_bytes_, AlignScratch(product->scratch_bytes()));
        made->products_.push_back(std::move(product));
      }
    }
    return made;
  }

  int64_t scratch_bytes() const override {
    return (matrix_bytes_ + block_bytes_ + dot_bytes_) * workers_;
  }

  void Run(const void* a, const void*, void* output, void* scratch,
           ThreadPool& pool) const override {
    const int64_t each = matrix_bytes_ + block_bytes_ + dot_bytes_;
    const auto run = [&](int64_t matrix, int worker) {
      char* const memory = static_cast<char*>(scratch) + each * (workers_ > 1 ? worker : 0);
      RunOne(a, output, matrix * spec_.n * spec_.n, memory, pool);
    };
    if (workers_ > 1) {
      pool.ParallelFor(spec_.batch, run);
    } else {
      for (int64_t matrix = 0; matrix < spec_.batch; ++matrix) run(matrix, 0);
    }
  }

 private:
  explicit Cholesky(const CholeskySpec& spec) : spec_(spec), access_(spec.type) {
    workers_ = spec.batch > 1 ? spec.threads : 1;
    matrix_bytes_ = AlignScratch(spec.n * spec.n * int64_t{sizeof(T)});
    block_bytes_ = AlignScratch(spec.n * kBlock * int64_t{sizeof(T)});
  }

  void RunOne(const void* a, void* output, int64_t base, char* memory, ThreadPool& pool) const {
    const int64_t n = spec_.n;
    T* const l = reinterpret_cast<T*>(memory);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (j > i) {
          l[i * n + j] = T{};
        } else {
          l[i * n + j] = spec_.lower ? access_.Read(a, base + i * n + j)
                                     : Conjugate(access_.Read(a, base + j * n + i));
        }
      }
    }
    if (!Factor(l, memory, pool)) {
      const auto nan = std::numeric_limits<decltype(RealPart(T{}))>::quiet_NaN();
      T all = nan;
      if constexpr (kIsComplexType<T>) all = T(nan, nan);
      std::fill_n(l, n * n, all);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        access_.Write(spec_.lower ? l[i * n + j] : Conjugate(l[j * n + i]), output,
                      base + i * n + j);
      }
    }
  }

  // Overwrites the lower triangle with its factor. False at a negative or NaN pivot.
  bool Factor(T* l, char* memory, ThreadPool& pool) const {
    const int64_t n = spec_.n;
    for (int64_t start = 0; start < n; start += kBlock) {
      const int64_t end = std::min(n, start + kBlock);
      if (start > 0) Reduce(l, start, end, memory, pool);
      if (!FactorDiagonal(l, start, end)) return false;
      pool.ParallelRanges(n - end, 16, [&](int64_t first, int64_t last, int) {
        for (int64_t i = end + first; i < end + last; ++i) SolveRow(l, i, start, end);
      });
    }
    return true;
  }

  // l[i][j] -= sum over k < start of l[i][k] conj(l[j][k]), for i >= start, j in the block, j <= i.
  void Reduce(T* l, int64_t start, int64_t end, char* memory, ThreadPool& pool) const {
    const int64_t n = spec_.n;
    if constexpr (kHasProducts<T>) {
      T* const product = reinterpret_cast<T*>(memory + matrix_bytes_);
      DotBuffers buffers;
      buffers.lhs = buffers.rhs = l + start * n;
      buffers.out = product;
      buffers.scratch = memory + matrix_bytes_ + block_bytes_;
      // Inside a region the product runs in this thread, with the first worker's part of its
      // scratch only if that is this worker; each worker therefore brings scratch for all.
      products_[static_cast<size_t>(start / kBlock - 1)]->Run(buffers, pool);
      for (int64_t i = start; i < n; ++i) {
        for (int64_t j = start; j < std::min(end, i + 1); ++j) {
          l[i * n + j] -= product[(i - start) * kBlock + (j - start)];
        }
      }
    } else {
      for (int64_t i = start; i < n; ++i) {
        for (int64_t j = start; j < std::min(end, i + 1); ++j) {
          T sum{};
          for (int64_t k = 0; k < start; ++k) sum += Times(l[i * n + k], Conjugate(l[j * n + k]));
          l[i * n + j] -= sum;
        }
      }
    }
  }

  bool FactorDiagonal(T* l, int64_t start, int64_t end) const {
    for (int64_t i = start; i < end; ++i) {
      SolveRow(l, i, start, i);
      T& pivot = l[i * spec_.n + i];
      for (int64_t k = start; k < i; ++k)
        pivot -= Times(l[i * spec_.n + k], Conjugate(l[i * spec_.n + k]));
      const auto real = RealPart(pivot);
      if (!(real >= 0)) return false;
      const auto root = std::sqrt(real);
      // The whole column is divided by the root, the diagonal included: 0 / 0 is NaN.
      if (kIsComplexType<T> || real == 0) {
        pivot = pivot / T(root);
      } else {
        pivot = T(root);
      }
    }
    return true;
  }

  // Row i of the factor in columns [start, end), given the rows of these columns.
  void SolveRow(T* l, int64_t i, int64_t start, int64_t end) const {
    const int64_t n = spec_.n;
    for (int64_t j = start; j < end; ++j) {
      T sum = l[i * n + j];
      for (int64_t k = start; k < j; ++k) sum -= Times(l[i * n + k], Conjugate(l[j * n + k]));
      const T pivot = l[j * n + j];
      // Division by the root of the pivot's real part, which the diagonal holds times a phase.
      l[i * n + j] = sum / T(RealPart(pivot));
    }
  }

  CholeskySpec spec_;
  ElementAccess<T> access_;
  int64_t workers_;
  int64_t matrix_bytes_, block_bytes_, dot_bytes_ = 0;
  std::vector<std::unique_ptr<DotKernel>> products_;  // one for each block but the first
};

}  // namespace

absl::StatusOr<std::unique_ptr<LinalgKernel>> MakeCholesky(const CholeskySpec& spec,
                                                           const Host& host) {
  return WithComputeType(spec.type, [&]<class T>() { return Cholesky<T>::Create(spec, host); });
}

}  // namespace hlo::cpu
