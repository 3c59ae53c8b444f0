#include "backends/gpu/emit/core/frame.h"

#include <llvm/IR/LLVMContext.h>

#include <algorithm>

#include "lib/eval/contraction.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo::gpu {

int GpuFrame::AddScratch(KernelPlan& plan, ElementType type, int64_t elements) {
  plan.scratch.push_back(elements * ByteSize(type));
  buffers.push_back({type, elements, /*written=*/true, /*shared=*/false});
  return static_cast<int>(buffers.size()) - 1;
}

std::vector<int> GpuFrame::AllBuffers() const {
  std::vector<int> all;
  for (size_t i = 0; i < buffers.size(); ++i) all.push_back(static_cast<int>(i));
  return all;
}

bool GpuFrame::Has(Opcode opcode) const {
  return std::any_of(body.begin(), body.end(),
                     [opcode](const Instruction* i) { return i->opcode() == opcode; });
}

Decision HasStaticOperands(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().has_dynamic_dims()) return No("an operand has dynamic dimensions");
  }
  return Yes();
}

Decision SumsInOneKind(const Instruction& product) {
  const ElementType result = product.shape().element_type();
  const ElementType sum = ProductType(product);
  return sum == result
             ? Yes()
             : No("products of `{}` are cut to `{}` after their sum", Text(sum), Text(result));
}

absl::StatusOr<GpuFrame> MakeGpuFrame(const Instruction& fusion, const FamilyOptions& options) {
  GpuFrame frame;
  ASSIGN_OR_RETURN(static_cast<KernelFrame&>(frame), MakeKernelFrame(fusion, "gpu"));
  for (const Shape array : frame.arrays) {
    const bool written = std::ssize(frame.buffers) >= frame.operand_buffers;
    frame.buffers.push_back({array.element_type(), array.element_count(), written, false});
  }
  for (const BufferPair& pair : options.shared) {
    frame.buffers[static_cast<size_t>(pair.operand)].shared = true;
    frame.buffers[static_cast<size_t>(frame.operand_buffers + pair.result)].shared = true;
  }
  const auto see = [&frame](const Instruction& value) {
    ForEachLeaf(value.shape(), [&](Shape leaf, const ShapeIndex&) {
      if (leaf.IsArray()) frame.largest = std::max(frame.largest, leaf.element_count());
    });
  };
  for (const Instruction* i : frame.body) see(*i);
  if (fusion.IsFusion()) {
    for (const Instruction* parameter : fusion.fused_computation()->parameters()) see(*parameter);
  }
  return frame;
}

absl::StatusOr<int> AddKernel(const GpuFrame& frame, int block_threads, int integers,
                              KernelPlan& plan, const KernelBody& body) {
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  SetDeviceTarget(module);
  KernelBuilder kernel(module, kKernelName, frame.buffers, integers, block_threads, frame.largest);
  GpuFusionEmitter emitter(kernel);
  for (const auto& [instruction, buffer] : frame.bindings) emitter.BindBuffer(instruction, buffer);
  RETURN_IF_ERROR(body(emitter, kernel));
  kernel.Finish();
  ASSIGN_OR_RETURN(std::string bitcode, ToBitcode(module));
  plan.kernels.push_back(std::move(bitcode));
  return static_cast<int>(plan.kernels.size()) - 1;
}

PlanStep& AddLaunch(const GpuFrame& frame, int kernel, int64_t blocks, int block_threads,
                    std::vector<int64_t> integers, KernelPlan& plan) {
  PlanStep step;
  step.kernel = kernel;
  step.dims.grid[0] = blocks;
  step.dims.block = block_threads;
  step.buffers = frame.AllBuffers();
  step.integers = std::move(integers);
  plan.steps.push_back(std::move(step));
  return plan.steps.back();
}

void AddCopy(int from, int to, KernelPlan& plan) {
  PlanStep step;
  step.kind = PlanStep::Kind::kCopy;
  step.buffers = {from, to};
  plan.steps.push_back(std::move(step));
}

absl::Status AddSimpleKernel(const GpuFrame& frame, int64_t threads, KernelPlan& plan,
                             const KernelBody& body) {
  constexpr int64_t kMostThreads = 128;
  const auto block =
      static_cast<int>(std::min(kMostThreads, RoundUp(std::max<int64_t>(threads, 1), kWarpSize)));
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, block, 0, plan, body));
  AddLaunch(frame, kernel, CeilDiv(std::max<int64_t>(threads, 1), block), block, {}, plan);
  return absl::OkStatus();
}

absl::Status AddZeros(const GpuFrame& frame, int to, int64_t elements, KernelPlan& plan) {
  if (elements == 0) return absl::OkStatus();
  return AddSimpleKernel(frame, elements, plan,
                         [&](GpuFusionEmitter&, KernelBuilder& k) -> absl::Status {
                           llvm::Value* const thread =
                               k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
                           return k.If(k.Less(thread, k.Index(elements)), [&] {
                             constexpr uint8_t kZeros[16] = {};
                             k.Store(to, thread, k.Constant(k.buffer(to).type, kZeros));
                             return absl::OkStatus();
                           });
                         });
}

}  // namespace hlo::gpu
