// backends/cpu/families/kernel_frame.h
//
// What all families share: the frame of a kernel as tile IR, cost. Internal to the families.
#pragma once

#include "backends/codegen/kernel_frame.h"
#include "backends/cpu/families/family.h"
#include "backends/cpu/families/fusion_emitter.h"
#include "lib/support/status.h"

namespace hlo::cpu {

// Adds the buffers of `fusion` to the kernel, and binds parameters to theirs.
absl::StatusOr<KernelFrame> MakeFrame(const Instruction& fusion, tile::TileBuilder& b,
                                      FusionEmitter& emitter);

// Vector lanes that fill one register for the types of the body.
int BaseLanes(const Instruction& fusion, const FamilyOptions& options);
// An estimate of the work of all tasks together.
double CostInNs(const Instruction& fusion, const FamilyOptions& options);

// Families; each takes what its head comment says.
absl::StatusOr<KernelPlan> EmitLoopFamily(const Instruction& fusion, const FamilyOptions& options);
absl::StatusOr<KernelPlan> EmitScatterFamily(const Instruction& fusion,
                                             const FamilyOptions& options);
absl::StatusOr<KernelPlan> EmitCumulativeFamily(const Instruction& instruction,
                                                const FamilyOptions& options);
// Of the cumulative family: it reads an element just before it writes its own result.
BufferPairs CumulativePairs(const Instruction& instruction);

// Corrections of a plan after which something is wrong with it; a dozen is usual.
inline constexpr int kMostTrials = 40;

// Emits a kernel by plans of its loops until one does not change any more.
template <class Emit>
absl::StatusOr<KernelPlan> EmitUntilSettled(const Instruction& instruction, const Emit& emit) {
  LoopPlan plan;
  for (int trial = 0; trial < kMostTrials; ++trial) {
    plan.BeginTrial();
    ASSIGN_OR_RETURN(KernelPlan result, emit(plan));
    if (!plan.changed) return result;
  }
  return Internal("the loops of `{}` do not settle", instruction.name());
}

}  // namespace hlo::cpu
