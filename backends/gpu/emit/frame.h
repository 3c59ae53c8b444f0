// backends/gpu/emit/frame.h
//
// What the kernel families have in common: which buffer holds what, and the making of one kernel.
// Internal to this folder: includes LLVM headers.
#pragma once

#include <functional>
#include <vector>

#include "backends/codegen/kernel_frame.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/emit/fused_emitter.h"
#include "backends/gpu/emit/kernel_builder.h"

namespace hlo::gpu {

struct Frame : KernelFrame {
  std::vector<BufferParam> buffers;  // with scratch memory
  int64_t largest = 0;               // elements of the largest array on the way

  // Adds a scratch buffer to the plan; gives its number.
  int AddScratch(KernelPlan& plan, ElementType type, int64_t elements);
  std::vector<int> AllBuffers() const;
};

absl::StatusOr<Frame> MakeFrame(const Instruction& fusion, const FamilyOptions& options);

using KernelBody = std::function<absl::Status(FusedEmitter& emitter, KernelBuilder& kernel)>;
// Adds a kernel to the plan; gives its number. It takes all buffers of the frame.
absl::StatusOr<int> AddKernel(const Frame& frame, int block_threads, int integers, KernelPlan& plan,
                              const KernelBody& body);
// Adds a launch of it, which may be told more until the next one is added.
PlanStep& AddLaunch(const Frame& frame, int kernel, int64_t blocks, int block_threads,
                    std::vector<int64_t> integers, KernelPlan& plan);
// Adds a copy of a whole buffer.
void AddCopy(int from, int to, KernelPlan& plan);
// Adds a kernel that writes `elements` zeros into a buffer.
absl::Status AddZeros(const Frame& frame, int to, int64_t elements, KernelPlan& plan);
// Adds AddKernel and AddLaunch of blocks enough for `threads` threads.
absl::Status AddSimpleKernel(const Frame& frame, int64_t threads, KernelPlan& plan,
                             const KernelBody& body);

// The families. Each takes any fusion it is named for.
absl::Status EmitLoop(const Frame& frame, absl::Span<const KernelOutput> outputs, KernelPlan& plan);
// Emits what the kernels of reductions store, and notes these outputs; others are loops.
absl::Status EmitReductions(const Frame& frame, std::vector<bool>& emitted, KernelPlan& plan);
absl::Status EmitScatter(const Instruction& fusion, bool in_place, Frame& frame, KernelPlan& plan);
// Whether a scaled-dot is of floats, in whole blocks.
Decision TakesScaledDot(const Instruction& dot);
absl::Status EmitDot(const Instruction& dot, const Frame& frame, KernelPlan& plan);
absl::Status EmitRaggedDot(const Instruction& dot, const Frame& frame, KernelPlan& plan);
absl::Status EmitConvolution(const Instruction& conv, const Frame& frame, KernelPlan& plan);
absl::Status EmitSort(const Instruction& sort, Frame& frame, KernelPlan& plan);
absl::Status EmitTopK(const Instruction& topk, Frame& frame, KernelPlan& plan);
// Whether EmitRngBitGenerator takes its state and result.
Decision TakesRngBitGenerator(const Instruction& rng);
absl::Status EmitRngBitGenerator(const Instruction& rng, const Frame& frame, KernelPlan& plan);
// Whether the types are ones that stochastic-convert is defined for.
Decision TakesStochasticConvert(const Instruction& convert);
// Whether EmitRng draws numbers of its type.
Decision TakesRng(const Instruction& rng);
absl::Status EmitRng(const Instruction& rng, const Frame& frame, KernelPlan& plan);
// What is the same for a whole run: rng-get-and-update-state, replica-id, partition-id.
absl::Status EmitRuntimeNumber(const Instruction& instruction, const Frame& frame,
                               KernelPlan& plan);
// Whether a custom call gives its operand, an array.
Decision IsCopyOfOperand(const Instruction& call);
// Whether a collective means something where there is one device, and what: copies, or zeros.
Decision TakesOnOneDevice(const Instruction& collective);
absl::Status EmitOnOneDevice(const Instruction& collective, const Frame& frame, KernelPlan& plan);
Decision TakesFft(const Instruction& fft);
absl::Status EmitFft(const Instruction& fft, Frame& frame, KernelPlan& plan);
// Whether a cholesky or triangular-solve is of a type that its family computes.
Decision TakesSolve(const Instruction& instruction);
absl::Status EmitCholesky(const Instruction& cholesky, Frame& frame, KernelPlan& plan);
absl::Status EmitTriangularSolve(const Instruction& solve, Frame& frame, KernelPlan& plan);
Decision TakesScan(const Instruction& scan);
absl::Status EmitScan(const Instruction& scan, const Frame& frame, KernelPlan& plan);
absl::StatusOr<bool> EmitCumulative(const Instruction& fusion, const Frame& frame,
                                    KernelPlan& plan);
absl::StatusOr<bool> EmitTranspose(const Instruction& fusion, const Frame& frame, KernelPlan& plan);

}  // namespace hlo::gpu
