// fft, cholesky and triangular-solve by the library: HLO attributes -> the routine's spec.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "backends/cpu/library/fft.h"
#include "backends/cpu/library/linalg.h"
#include "backends/cpu/library_thunks.h"
#include "backends/cpu/linalg_call_thunk.h"

namespace hlo::cpu {
namespace {

// A routine of the library over whole arrays with one result.
class RoutineThunk final : public CpuThunk {
 public:
  // Operand addresses in order; the second is null when there is one operand.
  using Routine = std::function<void(const void* a, const void* b, void* output, void* scratch,
                                     ThreadPool& pool)>;
  RoutineThunk(const Instruction& instruction, const ThunkBuffers& buffers, int64_t scratch_bytes,
               Routine routine)
      : CpuThunk(instruction.name()),
        kind_(instruction.opcode_text()),
        output_(buffers.results[0]),
        scratch_bytes_(scratch_bytes),
        routine_(std::move(routine)) {
    for (const auto& operand : buffers.operands) inputs_.push_back(operand[0]);
  }
  std::string_view kind() const override { return kind_; }
  BufferUses uses() const override { return {inputs_, {output_}}; }
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  absl::Status Run(CpuState& state) const override {
    routine_(state.Address(inputs_[0]), inputs_.size() > 1 ? state.Address(inputs_[1]) : nullptr,
             state.Address(output_), state.scratch, *state.pool);
    return absl::OkStatus();
  }

 private:
  std::string_view kind_;
  std::vector<BufferSlice> inputs_;
  BufferSlice output_;
  int64_t scratch_bytes_;
  Routine routine_;
};

// The product of all dimensions but the last `minor` ones.
int64_t BatchOf(Shape shape, int minor) {
  int64_t batch = 1;
  for (int d = 0; d < shape.rank() - minor; ++d) batch *= shape.dim(d);
  return batch;
}

FftKind KindOf(FftType type) {
  switch (type) {
    case FftType::kFft: return FftKind::kForward;
    case FftType::kIfft: return FftKind::kInverse;
    case FftType::kRfft: return FftKind::kRealForward;
    case FftType::kIrfft: return FftKind::kRealInverse;
  }
  return FftKind::kForward;
}

Transposition TranspositionOf(TransposeKind kind) {
  switch (kind) {
    case TransposeKind::kInvalid:
    case TransposeKind::kNoTranspose: return Transposition::kNone;
    case TransposeKind::kTranspose: return Transposition::kTranspose;
    case TransposeKind::kAdjoint: return Transposition::kAdjoint;
  }
  return Transposition::kNone;
}

absl::StatusOr<std::unique_ptr<Thunk>> MakeLinalgThunk(
    const Instruction& instruction, const ThunkBuffers& buffers,
    absl::StatusOr<std::unique_ptr<LinalgKernel>> made) {
  if (!made.ok()) return made.status();
  const std::shared_ptr<LinalgKernel> kernel = *std::move(made);
  const auto routine = [kernel](const void* a, const void* b, void* output, void* scratch,
                                ThreadPool& pool) { kernel->Run(a, b, output, scratch, pool); };
  return std::make_unique<RoutineThunk>(instruction, buffers, kernel->scratch_bytes(), routine);
}

// The triangle that is not the factor's holds zeros.
void ClearTriangle(std::byte* matrices, Shape shape, bool lower, ThreadPool& pool) {
  const int64_t n = shape.dim(shape.rank() - 1), size = ByteSize(shape.element_type());
  pool.ParallelRanges(BatchOf(shape, 1), 4096 / std::max<int64_t>(n, 1) + 1,
                      [&](int64_t first, int64_t last, int) {
                        for (int64_t row = first; row < last; ++row) {
                          const int64_t i = row % n;
                          std::byte* const begin = matrices + row * n * size;
                          std::fill(begin + (lower ? (i + 1) * size : 0),
                                    begin + (lower ? n : i) * size, std::byte{0});
                        }
                      });
}

// Whether some element on the diagonals is no number: its factor is none, either.
template <class Real>
bool HasNanOnDiagonal(const void* matrices, Shape shape) {
  const int64_t n = shape.dim(shape.rank() - 1), width = IsComplex(shape.element_type()) ? 2 : 1;
  const Real* const values = static_cast<const Real*>(matrices);
  for (int64_t row = 0; row < BatchOf(shape, 1); ++row) {
    if (std::isnan(values[(row * n + row % n) * width])) return true;
  }
  return false;
}

// Takes `fast` where it can factor every matrix. What a matrix that is not positive becomes, the
// kernel knows.
absl::StatusOr<std::unique_ptr<Thunk>> MakeFastCholesky(const Instruction& cholesky,
                                                        const ThunkBuffers& buffers,
                                                        linalg::LinalgCall fast,
                                                        std::unique_ptr<LinalgKernel> made) {
  const std::shared_ptr<LinalgKernel> kernel = std::move(made);
  const Shape shape = cholesky.shape();
  const bool lower = cholesky.attrs<CholeskyAttrs>().lower;
  const bool is_double = ComponentType(shape.element_type()) == ElementType::kF64;
  const int64_t scratch =
      std::max(kernel->scratch_bytes(), fast.batch() * int64_t{sizeof(int32_t)});
  const auto routine = [=](const void* a, const void* b, void* output, void* scratch_memory,
                           ThreadPool& pool) {
    int32_t* const info = static_cast<int32_t*>(scratch_memory);
    RunBatch(fast, {a}, {output, info}, pool);
    const bool failed = std::any_of(info, info + fast.batch(), [](int32_t i) { return i != 0; }) ||
                        (is_double ? HasNanOnDiagonal<double>(output, shape)
                                   : HasNanOnDiagonal<float>(output, shape));
    if (failed) return kernel->Run(a, b, output, scratch_memory, pool);
    ClearTriangle(static_cast<std::byte*>(output), shape, lower, pool);
  };
  return std::make_unique<RoutineThunk>(cholesky, buffers, scratch, routine);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeFftThunk(const Instruction& fft,
                                                    const ThunkBuffers& buffers,
                                                    const LibraryOptions& options) {
  const FftAttrs& attrs = fft.attrs<FftAttrs>();
  const Shape operand = fft.operand(0)->shape();
  const int axes = static_cast<int>(attrs.fft_length.size());
  for (int i = 0; i < axes; ++i) {
    const bool is_last_of_inverse = attrs.fft_type == FftType::kIrfft && i + 1 == axes;
    const int64_t length = attrs.fft_length[static_cast<size_t>(i)];
    // Nothing to transform, or a length that does not fit: the evaluator knows what to say.
    if (length == 0 || (!is_last_of_inverse && operand.dim(operand.rank() - axes + i) != length))
      return std::unique_ptr<Thunk>();
  }
  const ElementType type = operand.element_type();
  FftSpec spec;
  spec.kind = KindOf(attrs.fft_type);
  spec.is_double = type == ElementType::kF64 || type == ElementType::kC128;
  spec.batch = BatchOf(fft.shape(), axes);
  spec.length.assign(attrs.fft_length.begin(), attrs.fft_length.end());
  spec.threads = options.threads;
  absl::StatusOr<std::unique_ptr<FftKernel>> made = MakeFft(spec, options.host);
  if (!made.ok()) return made.status();
  const std::shared_ptr<FftKernel> kernel = *std::move(made);
  const auto routine = [kernel](const void* input, const void*, void* output, void* scratch,
                                ThreadPool& pool) { kernel->Run(input, output, scratch, pool); };
  return std::make_unique<RoutineThunk>(fft, buffers, kernel->scratch_bytes(), routine);
}

absl::StatusOr<std::unique_ptr<Thunk>> MakeCholeskyThunk(const Instruction& cholesky,
                                                         const ThunkBuffers& buffers,
                                                         const LibraryOptions& options) {
  const Shape shape = cholesky.shape();
  CholeskySpec spec;
  spec.type = shape.element_type();
  spec.batch = BatchOf(shape, 2);
  spec.n = shape.dim(shape.rank() - 1);
  spec.lower = cholesky.attrs<CholeskyAttrs>().lower;
  spec.threads = options.threads;
  auto kernel = MakeCholesky(spec, options.host);
  std::optional<linalg::LinalgCall> fast = linalg::LinalgCall::ForCholesky(cholesky);
  if (fast.has_value() && kernel.ok())
    return MakeFastCholesky(cholesky, buffers, *std::move(fast), *std::move(kernel));
  return MakeLinalgThunk(cholesky, buffers, std::move(kernel));
}

absl::StatusOr<std::unique_ptr<Thunk>> MakeTriangularSolveThunk(const Instruction& solve,
                                                                const ThunkBuffers& buffers,
                                                                const LibraryOptions& options) {
  if (auto fast = linalg::LinalgCall::ForTriangularSolve(solve); fast.has_value()) {
    const auto routine = [call = *std::move(fast)](const void* a, const void* b, void* output,
                                                   void*, ThreadPool& pool) {
      RunBatch(call, {a, b}, {output}, pool);
    };
    return std::make_unique<RoutineThunk>(solve, buffers, 0, routine);
  }
  const TriangularSolveAttrs& attrs = solve.attrs<TriangularSolveAttrs>();
  const Shape shape = solve.shape();
  TriangularSolveSpec spec;
  spec.type = shape.element_type();
  spec.batch = BatchOf(shape, 2);
  spec.rows = shape.dim(shape.rank() - 2);
  spec.columns = shape.dim(shape.rank() - 1);
  spec.left = attrs.left_side;
  spec.lower = attrs.lower;
  spec.unit_diagonal = attrs.unit_diagonal;
  spec.transposition = TranspositionOf(attrs.transpose_a);
  spec.threads = options.threads;
  return MakeLinalgThunk(solve, buffers, MakeTriangularSolve(spec, options.host));
}

}  // namespace hlo::cpu
