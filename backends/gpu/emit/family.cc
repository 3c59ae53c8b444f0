#include "backends/gpu/emit/family.h"

#include <algorithm>
#include <iterator>

#include "backends/gpu/emit/core/frame.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/status.h"
#include "passes/fusion/fusion_target.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/row_fusion.h"

namespace hlo::gpu {

#define HLO_GPU_FAMILY(takes, emit, ...)          \
  Decision takes(const Instruction& instruction); \
  absl::Status emit(const FamilyRequest& request);
#include "backends/gpu/emit/families.def"
Decision TakesOnOneDevice(const Instruction& collective);
absl::Status EmitOnOneDevice(const FamilyRequest& request);

namespace {

Decision TakesLoops(const Instruction& instruction) { return IsKernelOp(instruction); }

struct Family {
  OpcodeSet opcodes;
  Decision (*takes)(const Instruction& instruction);
  absl::Status (*emit)(const FamilyRequest& request);
};

const Family& FamilyOf(Opcode opcode) {
  using enum Opcode;
  static constexpr Family kFamilies[] = {
#define HLO_GPU_FAMILY(takes, emit, ...) {{__VA_ARGS__}, takes, emit},
#include "backends/gpu/emit/families.def"
  };
  static constexpr Family kCollectives = {{}, TakesOnOneDevice, EmitOnOneDevice};
  static constexpr Family kLoops = {{}, TakesLoops, EmitLoops};
  const auto* const found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies),
                   [opcode](const Family& family) { return family.opcodes.Has(opcode); });
  if (found != std::end(kFamilies)) return *found;
  return HasTrait(opcode, kCollective) ? kCollectives : kLoops;
}

// All outputs come from one kernel that computes each element on its own.
bool IsOneLoop(const GpuFrame& frame) {
  // Each group of reductions has a kernel, and what comes after them is in it.
  if (frame.outputs.size() > 1 && frame.Has(Opcode::kReduce)) return false;
  for (const KernelOutput& output : frame.outputs) {
    const Opcode op = output.instruction->opcode();
    if (output.shape.element_count() != frame.outputs[0].shape.element_count()) return false;
    if (op == Opcode::kReduce || op == Opcode::kTranspose || op == Opcode::kScatter) return false;
  }
  return true;
}

}  // namespace

Decision IsKernel(const Instruction& instruction) {
  if (!instruction.IsFusion()) return FamilyOf(instruction.opcode()).takes(instruction);
  // Passes decided what is in it (fusion_target.h), but for what only some products can be.
  if (const Instruction* product = ProductOf(instruction)) return IsKernel(*product);
  return Yes();
}

BufferPairs KernelInPlacePairs(const Instruction& instruction) {
  if (BufferPairs pairs = UpdatePairs(instruction); !pairs.empty()) return pairs;
  const bool is_loop = instruction.IsFusion() || IsFusibleElementwise(instruction);
  if (!is_loop) return {};
  // Threads beyond the last row read it while it is written.
  if (RowFusionOf(instruction)) return {};
  const absl::StatusOr<GpuFrame> frame = MakeGpuFrame(instruction, {});
  if (!frame.ok() || !IsOneLoop(*frame)) return {};
  return SamePlacePairs(instruction);
}

absl::StatusOr<KernelPlan> EmitInstruction(const Instruction& instruction,
                                           const FamilyOptions& options) {
  if (const Decision decision = IsKernel(instruction); !decision) {
    return Unsupported(instruction.loc(), "platform `gpu` cannot run `{}` yet: {}",
                       instruction.opcode_text(), decision.reason());
  }
  RET_CHECK(options.multiprocessors > 0, "nobody said how many multiprocessors the device has");
  KernelPlan plan;
  ASSIGN_OR_RETURN(GpuFrame frame, MakeGpuFrame(instruction, options));
  const Instruction* root = RootOf(instruction);
  if (const Instruction* product = ProductOf(instruction); product != nullptr) root = product;
  RETURN_IF_ERROR(FamilyOf(root->opcode()).emit({instruction, *root, options, frame, plan}));
  return plan;
}

}  // namespace hlo::gpu
