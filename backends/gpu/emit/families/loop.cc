// The loop family: every element of the outputs is computed once, by one thread. A thread takes as
// many consecutive elements as fill 16 bytes; arrays read at the same places are read by one load.
#include <algorithm>

#include "backends/gpu/emit/families/loops.h"
#include "lib/analysis/cost.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

// Elements per thread.
int LanesFor(const GpuFrame& frame, absl::Span<const KernelOutput> outputs) {
  int widest = 1;
  for (const KernelOutput& output : outputs)
    widest = std::max(widest, ByteSize(output.shape.element_type()));
  int lanes = std::clamp(16 / widest, 1, 16);
  // Code is written once per element: not too much of it.
  int weight = 0;
  for (const Instruction* i : frame.body) {
    weight += IsCostly(*i) ? 16 : 1;
    if (kReduceOps.Has(i->opcode())) weight += 128;
  }
  while (lanes > 1 && lanes * weight > 256) lanes /= 2;
  while (lanes > 1 && outputs[0].shape.element_count() < lanes) lanes /= 2;
  return lanes;
}

// The values of all outputs at element `linear`.
absl::StatusOr<EmittedList> Values(GpuFusionEmitter& emitter,
                                   absl::Span<const KernelOutput> outputs, llvm::Value* linear) {
  EmittedList values;
  for (const KernelOutput& output : outputs) {
    const ArrayIndex index = ArrayIndex::Linear(output.shape.dims(), linear);
    ASSIGN_OR_RETURN(const Emitted value, emitter.Emit(output.instruction, index, output.result));
    values.push_back(value);
  }
  return values;
}

absl::Status StoreOne(GpuFusionEmitter& emitter, absl::Span<const KernelOutput> outputs,
                      llvm::Value* linear) {
  ASSIGN_OR_RETURN(const EmittedList values, Values(emitter, outputs, linear));
  for (size_t o = 0; o < outputs.size(); ++o)
    emitter.kernel().Store(outputs[o].buffer, linear, values[o]);
  return absl::OkStatus();
}

absl::Status StoreLanes(GpuFusionEmitter& emitter, absl::Span<const KernelOutput> outputs,
                        llvm::Value* base, int lanes) {
  KernelBuilder& k = emitter.kernel();
  std::vector<llvm::Value*> places;
  for (int lane = 0; lane < lanes; ++lane) places.push_back(k.Offset(base, lane));
  emitter.SetVector(places, outputs[0].shape.element_count());
  std::vector<std::vector<Emitted>> values(outputs.size());
  for (llvm::Value* place : places) {
    ASSIGN_OR_RETURN(const EmittedList one, Values(emitter, outputs, place));
    for (size_t o = 0; o < outputs.size(); ++o) values[o].push_back(one[o]);
  }
  for (size_t o = 0; o < outputs.size(); ++o) k.StoreVector(outputs[o].buffer, base, values[o]);
  emitter.SetVector({}, 0);
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitLoop(const GpuFrame& frame, absl::Span<const KernelOutput> outputs,
                      KernelPlan& plan) {
  const int64_t count = outputs[0].shape.element_count();
  if (count == 0) return absl::OkStatus();
  const int lanes = LanesFor(frame, outputs);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
    llvm::Value* const thread = k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
    if (lanes == 1) {
      return k.If(k.Less(thread, k.Index(count)),
                  [&] { return StoreOne(emitter, outputs, thread); });
    }
    llvm::Value* const base = k.Scale(thread, lanes);
    RETURN_IF_ERROR(k.If(k.Less(base, k.Index(count - lanes + 1)),
                         [&] { return StoreLanes(emitter, outputs, base, lanes); }));
    const int64_t rest = count % lanes;
    if (rest == 0) return absl::OkStatus();
    // The thread after the last full one takes what is left.
    llvm::Value* const is_last = k.b().CreateICmpEQ(base, k.Index(count - rest));
    return k.If(is_last, [&]() -> absl::Status {
      const auto one = [&](llvm::Value* i, const EmittedList&) -> absl::StatusOr<EmittedList> {
        RETURN_IF_ERROR(StoreOne(emitter, outputs, i));
        return EmittedList();
      };
      return k.Loop(base, k.Index(count), k.Index(1), {}, one).status();
    });
  };
  return AddSimpleKernel(frame, CeilDiv(count, lanes), plan, body);
}

Decision TakesBitcastConvert(const Instruction& convert) {
  const auto has_pieces = [](Shape shape) {
    const ElementType type = shape.element_type();
    return !shape.has_dynamic_dims() && !IsComplex(type) && !IsPred(type) && BitWidth(type) >= 8;
  };
  if (has_pieces(convert.operand(0)->shape()) && has_pieces(convert.shape())) return Yes();
  return IsKernelOp(convert);
}

Decision TakesDimensionSize(const Instruction& size) { return HasStaticOperands(size); }

absl::Status EmitLoops(const FamilyRequest& request) {
  const GpuFrame& frame = request.frame;
  RET_CHECK(!frame.Has(Opcode::kScatter), "a scatter inside `{}`", request.instruction.name());
  if (const std::optional<RowFusion> rows = RowFusionOf(request.instruction))
    return EmitRowFusion(request, *rows);
  std::vector<bool> emitted(frame.outputs.size(), false);
  if (frame.Has(Opcode::kReduce)) RETURN_IF_ERROR(EmitReductions(request, emitted));
  // Others of as many elements share a kernel.
  for (size_t first = 0; first < frame.outputs.size(); ++first) {
    if (emitted[first]) continue;
    std::vector<KernelOutput> group;
    for (size_t o = first; o < frame.outputs.size(); ++o) {
      if (emitted[o] ||
          frame.outputs[o].shape.element_count() != frame.outputs[first].shape.element_count())
        continue;
      emitted[o] = true;
      group.push_back(frame.outputs[o]);
    }
    RETURN_IF_ERROR(EmitLoop(frame, group, request.plan));
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
