// backends/cpu/families/kernel_frame.h
//
// What all families share: the roots of a fusion, the buffers of its kernel, cost. Internal to the
// families.
#pragma once

#include <vector>

#include "backends/cpu/families/family.h"
#include "backends/cpu/families/fusion_emitter.h"

namespace hlo::cpu {

// An array the kernel writes.
struct KernelOutput {
  const Instruction* instruction = nullptr;
  int result = 0;  // of a reduce with several
  int buffer = 0;
  Shape shape;
};

struct KernelFrame {
  std::vector<KernelOutput> outputs;
  std::vector<const Instruction*> body;  // fused instructions without parameters
  int operand_buffers = 0;
};

// Adds the buffers of `fusion` to the kernel, and binds parameters to theirs.
absl::StatusOr<KernelFrame> MakeFrame(const Instruction& fusion, tile::Builder& b,
                                      FusionEmitter& emitter);

// The instruction whose elements the fusion computes: the root of the fused computation, or the
// instruction itself.
const Instruction* RootOf(const Instruction& fusion);
std::vector<const Instruction*> BodyOf(const Instruction& fusion);

// Vector lanes that fill one register for the types of the body.
int BaseLanes(const Instruction& fusion, const FamilyOptions& options);
// The pairs of WantsToShare do share their buffers.
bool SharesWanted(const Instruction& fusion, const FamilyOptions& options);
// An estimate of the work of all tasks together.
double CostInNs(const Instruction& fusion, const FamilyOptions& options);

// Families; each takes what its head comment says.
absl::StatusOr<KernelPlan> EmitLoopFamily(const Instruction& fusion, const FamilyOptions& options);
absl::StatusOr<KernelPlan> EmitScatterFamily(const Instruction& fusion,
                                             const FamilyOptions& options);
absl::StatusOr<KernelPlan> EmitCumulativeFamily(const Instruction& instruction,
                                                const FamilyOptions& options);

// Corrections of a plan after which something is wrong with it; a dozen is usual.
inline constexpr int kMostTrials = 40;

}  // namespace hlo::cpu
