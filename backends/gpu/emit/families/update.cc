// dynamic-update-slice into its operand's buffer: only the update's elements are written.
#include "backends/codegen/in_place.h"
#include "backends/gpu/emit/families/loops.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {

Decision TakesUpdate(const Instruction& update) { return IsKernelOp(update); }

absl::Status EmitUpdate(const FamilyRequest& request) {
  if (!UpdatesInPlace(request.instruction, request.options.shared)) return EmitLoops(request);
  const GpuFrame& frame = request.frame;
  request.plan.family = "update";
  const Instruction* const root = RootOf(request.instruction);
  const Instruction* const update = root->operand(1);
  const int64_t count = update->shape().element_count();
  if (count == 0 || root->shape().element_count() == 0) return absl::OkStatus();
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
    llvm::Value* const thread = k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
    return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {
      const ArrayIndex index = ArrayIndex::Linear(update->shape().dims(), thread);
      ArrayIndex::Positions target = index.positions(k);
      for (int d = 0; d < update->shape().rank(); ++d) {
        const int64_t limit = root->shape().dim(d) - update->shape().dim(d);
        ASSIGN_OR_RETURN(llvm::Value* const start,
                         emitter.ClampedStart(root->operand(2 + d), ArrayIndex(), limit));
        target[static_cast<size_t>(d)] = k.Add(target[static_cast<size_t>(d)], start);
      }
      ASSIGN_OR_RETURN(const Emitted value, emitter.Emit(update, index));
      k.Store(frame.outputs[0].buffer, ArrayIndex::At(root->shape().dims(), target).linear(k),
              value);
      return absl::OkStatus();
    });
  };
  return AddSimpleKernel(frame, count, request.plan, body);
}

}  // namespace hlo::gpu
