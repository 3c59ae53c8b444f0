// Thunks that call the CPU library: dot, convolution, sort, top-k, Fourier
// transforms, linear algebra; and one that lets the
// interpreter compute an operation for which there is neither a kernel family nor a library routine
// yet (correct, not fast).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cpu/cpu_state.h"
#include "backends/cpu/library/host.h"
#include "backends/platforms.h"
#include "lib/ir/instruction.h"

namespace hlo::cpu {

struct LibraryOptions {
  Host host;
  int threads = 1;
  Denormals denormals = DefaultDenormals("cpu");
  uint64_t seed = 42;
};

// Operand slices per operand, result slices per leaf.
struct ThunkBuffers {
  std::vector<std::vector<BufferSlice>> operands;
  std::vector<BufferSlice> results;
  bool rhs_unchanging = false;  // operand 1 keeps its contents until ForgetOperands
  bool rhs_constant = false;    // and after that, too
  int kernel_state = -1;        // number in CpuState::kernels
};

absl::StatusOr<std::unique_ptr<Thunk>> MakeDotThunk(const Instruction& dot,
                                                    const ThunkBuffers& buffers,
                                                    const LibraryOptions& options);
absl::StatusOr<std::unique_ptr<Thunk>> MakeConvThunk(const Instruction& conv,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options);
// Whether the comparator is a plain order of one operand, which the library knows.
bool HasPlainOrder(const Instruction& sort);
absl::StatusOr<std::unique_ptr<Thunk>> MakeSortThunk(const Instruction& sort,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options);
absl::StatusOr<std::unique_ptr<Thunk>> MakeTopKThunk(const Instruction& topk,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options);
absl::StatusOr<std::unique_ptr<Thunk>> MakeFftThunk(const Instruction& fft,
                                                    const ThunkBuffers& buffers,
                                                    const LibraryOptions& options);
absl::StatusOr<std::unique_ptr<Thunk>> MakeCholeskyThunk(const Instruction& cholesky,
                                                         const ThunkBuffers& buffers,
                                                         const LibraryOptions& options);
absl::StatusOr<std::unique_ptr<Thunk>> MakeTriangularSolveThunk(const Instruction& solve,
                                                                const ThunkBuffers& buffers,
                                                                const LibraryOptions& options);
// Custom calls of lib/linalg.
absl::StatusOr<std::unique_ptr<Thunk>> MakeLinalgCallThunk(const Instruction& call,
                                                           const ThunkBuffers& buffers,
                                                           const LibraryOptions& options);
// Null: a form that the evaluator alone knows.
absl::StatusOr<std::unique_ptr<Thunk>> MakeCollectiveThunk(const Instruction& instruction,
                                                           const ThunkBuffers& buffers,
                                                           const LibraryOptions& options);
// Any instruction that the evaluator can compute (IsEvaluableHere), of any shapes.
absl::StatusOr<std::unique_ptr<Thunk>> MakeEvalThunk(const Instruction& instruction,
                                                     const ThunkBuffers& buffers);

}  // namespace hlo::cpu
