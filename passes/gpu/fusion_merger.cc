#include "passes/gpu/fusion_merger.h"

#include "passes/fusion/fuse.h"
#include "passes/fusion/in_place_update.h"
#include "passes/gpu/fusion_candidates.h"
#include "passes/util/plain_fusion.h"

namespace hlo {
namespace {

bool IsMergeableLoop(const Instruction& x) {
  return IsPlainFusion(x) && x.attrs<FusionAttrs>().kind == FusionKind::kLoop &&
         x.shape().IsArray() && !x.has_control_edges() && x.sharding() == nullptr && x.has_uses();
}

// Each element of the result is made of the element at its place in what is read.
bool KeepsPlaces(const Instruction& reader) {
  const auto keeps = [](const Instruction& i) {
    return i.operand_count() == 1 && i.use_count() <= 1 && IsPassedThrough(i);
  };
  if (!reader.IsFusion()) return keeps(reader);
  return absl::c_all_of(
      reader.fused_computation()->instruction_vector(),
      [&](const Instruction* i) { return i->opcode() == Opcode::kParameter || keeps(*i); });
}

Decision MayFollowReduction(const Instruction& loop, const Instruction& reader) {
  if (!IsRaceFree(*ReductionShapeOf(HeroOf(loop)))) return No("it ends with atomics");
  if (!KeepsPlaces(reader))
    return No("`{}` is more than what can follow a reduction", reader.name());
  if (loop.users().size() > 1) return No("it reduces, for several readers");
  return Yes();
}

Decision MayTakeIn(const Instruction& reader, const Instruction& loop) {
  if (!reader.is_used()) return No("nobody reads `{}`", reader.name());
  if (reader.opcode() == Opcode::kBitcast) return No("`{}` is a bitcast", reader.name());
  if (reader.has_control_edges() || reader.sharding() != nullptr || reader.HasSideEffect())
    return No("`{}` has control edges, a sharding or a side effect", reader.name());
  if (reader.IsFusion() && !IsPlainFusion(reader))
    return No("`{}` is custom or writes over its operands", reader.name());
  if (EndsWithReduction(loop)) {
    if (Decision may = MayFollowReduction(loop, reader); !may) return may;
  }
  if (Decision keeps = KeepsScatter(loop, reader); !keeps) return keeps;
  if (!CanComputeOperands(reader)) return No("`{}` is no kernel that can", reader.name());
  if (EndsWithReduction(reader) && TransposesMost(loop))
    return No("it transposes most of what `{}` would read", reader.name());
  if (Decision keeps = KeepsUpdateInPlace(loop, reader); !keeps) return keeps;
  return FitInOneKernel(reader, loop, /*a_reads_b=*/true);
}

// Whether all are as fast as before when each reader computes the loop itself.
Decision IsWorthIt(const Instruction& loop, const PerformanceModel& model) {
  if (loop.is_root()) return No("it is the computation's result");
  for (const Instruction* reader : loop.users()) {
    if (Decision may = MayTakeIn(*reader, loop); !may) return may;
  }
  KernelModel of_loop(loop);
  model.Measure(loop, of_loop);
  Ticks saved = kLaunch + of_loop.time;
  for (const Instruction* reader : loop.users()) {
    KernelModel of_reader(*reader);
    model.Measure(*reader, of_reader);
    if (Decision small = IsSmallEnough(*reader, of_reader, loop, of_loop); !small) return small;
    saved += of_reader.time - model.TimeOfBoth(loop, of_loop, *reader, of_reader);
  }
  return saved < 0 ? No("its readers would take {} ns longer", -saved / kTicksPerNanosecond)
                   : Yes();
}

void MergeIntoReaders(Instruction* loop) {
  for (Instruction* reader : loop->users()) {
    if (!reader->IsFusion())
      reader =
          WrapInFusion(reader, IsInputKernel(*reader) ? FusionKind::kInput : FusionKind::kLoop);
    Absorb(loop, reader);
  }
  Computation* const body = loop->fused_computation();
  loop->parent()->Remove(loop);
  if (body->callers().empty()) body->module().RemoveComputation(body);
}

}  // namespace

absl::StatusOr<bool> FusionMerger::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const GpuDevice device, FindGpuDevice(options_.device));
  const PerformanceModel model(device);
  bool changed = false;
  for (Computation* computation : context.ControlFlowComputations(module)) {
    for (Instruction* loop : computation->PostOrder()) {
      if (!IsMergeableLoop(*loop)) continue;
      if (!context.Allowed(*loop, IsWorthIt(*loop, model))) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*loop, "merged into its {} readers", loop->users().size());
      context.Count("merged");
      MergeIntoReaders(loop);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(FusionMerger)

}  // namespace hlo
