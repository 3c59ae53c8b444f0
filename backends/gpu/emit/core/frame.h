// backends/gpu/emit/core/frame.h
//
// What the kernel families have in common: which buffer holds what, and the making of one kernel.
// Internal to emit/: includes LLVM headers.
#pragma once

#include <functional>
#include <vector>

#include "backends/codegen/kernel_frame.h"
#include "backends/gpu/emit/core/fusion_emitter.h"
#include "backends/gpu/emit/core/kernel_builder.h"
#include "backends/gpu/emit/core/kernel_plan.h"
#include "lib/support/decision.h"

namespace hlo::gpu {

struct GpuFrame : KernelFrame {
  std::vector<BufferParam> buffers;  // with scratch memory
  int64_t largest = 0;               // elements of the largest array on the way

  // Adds a scratch buffer to the plan; gives its number.
  int AddScratch(KernelPlan& plan, ElementType type, int64_t elements);
  std::vector<int> AllBuffers() const;
  // Whether an instruction of this opcode is computed on the way.
  bool Has(Opcode opcode) const;
};

absl::StatusOr<GpuFrame> MakeGpuFrame(const Instruction& fusion, const FamilyOptions& options);

using KernelBody = std::function<absl::Status(GpuFusionEmitter& emitter, KernelBuilder& kernel)>;
// Adds a kernel to the plan; gives its number. It takes all buffers of the frame.
absl::StatusOr<int> AddKernel(const GpuFrame& frame, int block_threads, int integers,
                              KernelPlan& plan, const KernelBody& body);
// Adds a launch of it, which may be told more until the next one is added.
PlanStep& AddLaunch(const GpuFrame& frame, int kernel, int64_t blocks, int block_threads,
                    std::vector<int64_t> integers, KernelPlan& plan);
// Adds a copy of a whole buffer.
void AddCopy(int from, int to, KernelPlan& plan);
// Adds a kernel that writes `elements` zeros into a buffer.
absl::Status AddZeros(const GpuFrame& frame, int to, int64_t elements, KernelPlan& plan);
// Adds AddKernel and AddLaunch of blocks enough for `threads` threads.
absl::Status AddSimpleKernel(const GpuFrame& frame, int64_t threads, KernelPlan& plan,
                             const KernelBody& body);

// What a family is asked for (families.def).
struct FamilyRequest {
  const Instruction& instruction;  // a fusion, or one that counts as a fusion of itself
  const Instruction& root;         // of a fused product the product
  const FamilyOptions& options;
  GpuFrame& frame;
  KernelPlan& plan;
};

// What several families want to know of an instruction.
Decision HasStaticOperands(const Instruction& instruction);
// Whether a product sums numbers of the kind that its result has; result_caster makes it so.
Decision SumsInOneKind(const Instruction& product);

}  // namespace hlo::gpu
