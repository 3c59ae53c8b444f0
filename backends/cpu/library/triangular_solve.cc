// Triangular systems (linalg.h). Every case becomes "lower triangular, from the left" while the
// operands are copied into scratch memory: x op(a) = b is op(a)^T x^T = b^T, and an upper system is
// a lower one with its rows and columns in reverse order.
#include <algorithm>

#include "backends/cpu/library/linalg.h"
#include "backends/cpu/library/linalg_common.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kSolveBlock = 64;

template <class T>
class TriangularSolve final : public LinalgKernel {
 public:
  static absl::StatusOr<std::unique_ptr<LinalgKernel>> Create(const TriangularSolveSpec& spec,
                                                              const Host& host) {
    std::unique_ptr<TriangularSolve> made(new TriangularSolve(spec));
    if constexpr (kHasProducts<T>) {
      for (int64_t start = kSolveBlock; start < made->size_ && made->systems_ > 0;
           start += kSolveBlock) {
        DotSpec dot = DotSpec::RowMajor(kProductType<T>, std::min(kSolveBlock, made->size_ - start),
                                        made->systems_, start);
        dot.lhs_m = made->size_;
        dot.threads = spec.threads;
        ASSIGN_OR_RETURN(std::unique_ptr<DotKernel> product, MakeDot(dot, host));
        made->dot_bytes_ = std::max(made->dot_bytes_, AlignScratch(product->scratch_bytes()));
        made->products_.push_back(std::move(product));
      }
    }
    return made;
  }

  int64_t scratch_bytes() const override { return EachBytes() * workers_; }

  void Run(const void* a, const void* b, void* output, void* scratch,
           ThreadPool& pool) const override {
    const auto run = [&](int64_t index, int worker) {
      char* const memory = static_cast<char*>(scratch) + EachBytes() * (workers_ > 1 ? worker : 0);
      RunOne(a, b, output, index, memory, pool);
    };
    if (workers_ > 1) {
      pool.ParallelFor(spec_.batch, run);
    } else {
      for (int64_t index = 0; index < spec_.batch; ++index) run(index, 0);
    }
  }

 private:
  explicit TriangularSolve(const TriangularSolveSpec& spec) : spec_(spec), access_(spec.type) {
    size_ = spec.left ? spec.rows : spec.columns;
    systems_ = spec.left ? spec.columns : spec.rows;
    workers_ = spec.batch > 1 ? spec.threads : 1;
    // The system's matrix is op(a), or its transpose: lower if that many transpositions say so.
    transposed_ = (spec.transposition != Transposition::kNone) == spec.left;
    is_lower_ = spec.lower != transposed_;
    matrix_bytes_ = AlignScratch(size_ * size_ * int64_t{sizeof(T)});
    unknown_bytes_ = AlignScratch(size_ * systems_ * int64_t{sizeof(T)});
    product_bytes_ = AlignScratch(kSolveBlock * systems_ * int64_t{sizeof(T)});
  }

  int64_t EachBytes() const { return matrix_bytes_ + unknown_bytes_ + product_bytes_ + dot_bytes_; }

  void RunOne(const void* a, const void* b, void* output, int64_t index, char* memory,
              ThreadPool& pool) const {
    T* const l = reinterpret_cast<T*>(memory);
    T* const x = reinterpret_cast<T*>(memory + matrix_bytes_);
    const int64_t a_base = index * size_ * size_, b_base = index * size_ * systems_;
    ReadMatrix(a, a_base, l);
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t c = 0; c < systems_; ++c)
        x[i * systems_ + c] = access_.Read(b, b_base + OffsetOf(i, c));
    }
    for (int64_t start = 0; start < size_; start += kSolveBlock) {
      const int64_t end = std::min(size_, start + kSolveBlock);
      if (start > 0) Reduce(l, x, start, end, memory, pool);
      pool.ParallelRanges(systems_, 16, [&](int64_t first, int64_t last, int) {
        SolveBlock(l, x, start, end, first, last);
      });
    }
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t c = 0; c < systems_; ++c)
        access_.Write(x[i * systems_ + c], output, b_base + OffsetOf(i, c));
    }
  }

  int64_t Ordered(int64_t i) const { return is_lower_ ? i : size_ - 1 - i; }

  // Where unknown i of system c is in b and in the result.
  int64_t OffsetOf(int64_t i, int64_t c) const {
    return spec_.left ? Ordered(i) * systems_ + c : c * size_ + Ordered(i);
  }

  void ReadMatrix(const void* a, int64_t base, T* l) const {
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t j = 0; j < size_; ++j) {
        T& to = l[i * size_ + j];
        if (j > i || (j == i && spec_.unit_diagonal)) {
          to = j == i ? T(1) : T{};
          continue;
        }
        const int64_t row = Ordered(i), column = Ordered(j);
        to = access_.Read(a, base + (transposed_ ? column * size_ + row : row * size_ + column));
        if (spec_.transposition == Transposition::kAdjoint) to = Conjugate(to);
      }
    }
  }

  // Takes the unknowns before `start` out of the equations of the block.
  void Reduce(const T* l, T* x, int64_t start, int64_t end, char* memory, ThreadPool& pool) const {
    if constexpr (kHasProducts<T>) {
      T* const product = reinterpret_cast<T*>(memory + matrix_bytes_ + unknown_bytes_);
      DotBuffers buffers;
      buffers.lhs = l + start * size_;
      buffers.rhs = x;
      buffers.out = product;
      buffers.scratch = memory + matrix_bytes_ + unknown_bytes_ + product_bytes_;
      products_[static_cast<size_t>(start / kSolveBlock - 1)]->Run(buffers, pool);
      for (int64_t i = 0; i < (end - start) * systems_; ++i) x[start * systems_ + i] -= product[i];
    } else {
      for (int64_t i = start; i < end; ++i) {
        for (int64_t j = 0; j < start; ++j) Eliminate(l, x, i, j, 0, systems_);
      }
    }
  }

  // x[i] -= l[i][j] x[j] in systems [first, last).
  void Eliminate(const T* l, T* x, int64_t i, int64_t j, int64_t first, int64_t last) const {
    const T factor = l[i * size_ + j];
    for (int64_t c = first; c < last; ++c)
      x[i * systems_ + c] -= Times(factor, x[j * systems_ + c]);
  }

  void SolveBlock(const T* l, T* x, int64_t start, int64_t end, int64_t first, int64_t last) const {
    for (int64_t i = start; i < end; ++i) {
      for (int64_t j = start; j < i; ++j) Eliminate(l, x, i, j, first, last);
      if (spec_.unit_diagonal) continue;
      const T pivot = l[i * size_ + i];
      for (int64_t c = first; c < last; ++c) x[i * systems_ + c] /= pivot;
    }
  }

  TriangularSolveSpec spec_;
  ElementAccess<T> access_;
  int64_t size_, systems_, workers_;
  bool transposed_, is_lower_;
  int64_t matrix_bytes_, unknown_bytes_, product_bytes_, dot_bytes_ = 0;
  std::vector<std::unique_ptr<DotKernel>> products_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LinalgKernel>> MakeTriangularSolve(const TriangularSolveSpec& spec,
                                                                  const Host& host) {
  return WithComputeType(spec.type,
                         [&]<class T>() { return TriangularSolve<T>::Create(spec, host); });
}

}  // namespace hlo::cpu
