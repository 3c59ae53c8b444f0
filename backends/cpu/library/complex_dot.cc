// Products of complex numbers (dot_engines.h), as one real product of twice as many sums and
// columns. A row of lhs is the row of its parts, as it lies in memory, and so is a row of the
// result; each element x + iy of rhs becomes the matrix by which multiplying it is a real product:
//
//   [a  b] [ x  y ]  =  [ax - by  ay + bx]
//          [-y  x ]
//
// Only rhs is copied, into scratch memory.
#include <algorithm>
#include <complex>
#include <utility>

#include "backends/cpu/library/dot_engines.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kSerialCopy = 8'192;  // elements that one thread copies alone

// A result that is contiguous along m is computed as its transpose, as gemm.cc does.
void Transpose(DotSpec& spec) {
  std::swap(spec.m, spec.n);
  std::swap(spec.out_m, spec.out_n);
  std::swap(spec.lhs_m, spec.rhs_n);
  std::swap(spec.lhs_k, spec.rhs_k);
  for (DotBatch& batch : spec.batch) std::swap(batch.lhs, batch.rhs);
  for (DotSum& sum : spec.outer_k) std::swap(sum.lhs, sum.rhs);
}

bool HasWholeRows(const DotSpec& spec) { return spec.n == 1 || spec.out_n == 1; }

bool IsTransposed(const DotSpec& spec) {
  return !HasWholeRows(spec) && (spec.m == 1 || spec.out_m == 1);
}

// Of the parts of elements at `offsets`.
std::vector<int64_t> PartOffsets(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> parts;
  parts.reserve(2 * offsets.size());
  for (const int64_t offset : offsets) {
    parts.push_back(2 * offset);
    parts.push_back(2 * offset + 1);
  }
  return parts;
}

template <class T>
class ComplexDot final : public DotKernel {
 public:
  ComplexDot(DotSpec spec, bool transposed, std::unique_ptr<DotKernel> inner)
      : spec_(std::move(spec)),
        transposed_(transposed),
        inner_(std::move(inner)),
        sums_(SumOffsets(spec_, &DotSum::rhs, spec_.rhs_k)) {
    matrix_bytes_ = AlignScratch(BatchCount(spec_) * Sums() * spec_.n * 4 * int64_t{sizeof(T)});
  }

  int64_t scratch_bytes() const override { return matrix_bytes_ + inner_->scratch_bytes(); }
  std::string_view engine() const override { return "complex"; }

  void Run(const DotBuffers& buffers, ThreadPool& pool) const override {
    const void* const lhs = transposed_ ? buffers.rhs : buffers.lhs;
    const auto* const rhs =
        static_cast<const std::complex<T>*>(transposed_ ? buffers.lhs : buffers.rhs);
    T* const matrix = static_cast<T*>(buffers.scratch);
    const int64_t batches = BatchCount(spec_);
    const int64_t tasks = batches * Sums();
    const auto copy = [&](int64_t task, int) {
      const int64_t batch = task / Sums();
      CopyRow(rhs + BatchOffsets(spec_, batch).rhs + sums_[static_cast<size_t>(task % Sums())],
              matrix + task * spec_.n * 4);
    };
    if (tasks * spec_.n < kSerialCopy) {
      for (int64_t task = 0; task < tasks; ++task) copy(task, 0);
    } else {
      pool.ParallelFor(tasks, copy);
    }
    inner_->Run({lhs, matrix, buffers.out, static_cast<char*>(buffers.scratch) + matrix_bytes_},
                pool);
  }

 private:
  int64_t Sums() const { return static_cast<int64_t>(sums_.size()); }

  // The two rows of the real matrix that come of one row of rhs.
  void CopyRow(const std::complex<T>* from, T* to) const {
    const int64_t n = spec_.n;
    const int64_t step = 2 * spec_.rhs_n;
    const T* parts = reinterpret_cast<const T*>(from);
    T* const below = to + 2 * n;
    for (int64_t j = 0; j < n; ++j, parts += step) {
      to[2 * j] = parts[0];
      to[2 * j + 1] = parts[1];
      below[2 * j] = -parts[1];
      below[2 * j + 1] = parts[0];
    }
  }

  DotSpec spec_;
  bool transposed_;  // `spec_` is the transpose of what the caller asked
  std::unique_ptr<DotKernel> inner_;
  std::vector<int64_t> sums_;  // of rhs
  int64_t matrix_bytes_;
};

// The real product: lhs and the result where they are, rhs as ComplexDot copies it.
DotSpec RealSpec(const DotSpec& spec, ElementType part) {
  const int64_t sums = SumCount(spec);
  DotSpec real = DotSpec::RowMajor(part, spec.m, 2 * spec.n, 2 * sums);
  real.lhs_m = 2 * spec.lhs_m;
  real.out_m = 2 * spec.out_m;
  real.keeps_denormals = spec.keeps_denormals;
  real.threads = spec.threads;
  int64_t matrices = BatchCount(spec);
  for (const DotBatch& batch : spec.batch) {
    matrices /= batch.size;
    real.batch.push_back({batch.size, 2 * batch.lhs, matrices * 4 * sums * spec.n, 2 * batch.out});
  }
  return real;
}

template <class T>
absl::StatusOr<std::unique_ptr<DotKernel>> Make(DotSpec spec, const Host& host) {
  const bool transposed = IsTransposed(spec);
  if (transposed) Transpose(spec);
  const DotSpec real = RealSpec(spec, Computed<T>::kType);
  std::unique_ptr<DotKernel> inner;
  if (spec.outer_k.empty() && (spec.lhs_k == 1 || spec.k == 1)) {
    ASSIGN_OR_RETURN(inner, MakeDot(real, host));
  } else {
    OperandTable lhs{OffsetsOf({{spec.m, 2 * spec.lhs_m}}),
                     PartOffsets(SumOffsets(spec, &DotSum::lhs, spec.lhs_k))};
    inner = MakeGemm(real, {.compute = Computed<T>::kCompute}, host, std::move(lhs));
  }
  return std::make_unique<ComplexDot<T>>(std::move(spec), transposed, std::move(inner));
}

}  // namespace

bool ComplexDotSuits(const DotSpec& spec) {
  return IsComplex(spec.out_type) && spec.lhs_type == spec.out_type &&
         spec.rhs_type == spec.out_type && (HasWholeRows(spec) || IsTransposed(spec));
}

absl::StatusOr<std::unique_ptr<DotKernel>> MakeComplexDot(const DotSpec& spec, const Host& host) {
  return spec.out_type == ElementType::kC64 ? Make<float>(spec, host) : Make<double>(spec, host);
}

}  // namespace hlo::cpu
