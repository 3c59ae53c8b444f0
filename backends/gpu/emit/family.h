// backends/gpu/emit/family.h
//
// From an instruction (a fusion, or one that counts as a fusion of itself) to kernels and the
// launches that run them.
//
//   ASSIGN_OR_RETURN(KernelPlan plan, EmitInstruction(*instruction, options));
//
// Results do not depend on the order in which threads and blocks run. This header includes no LLVM
// header.
#pragma once

#include "absl/status/statusor.h"
#include "backends/gpu/emit/core/kernel_plan.h"
#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo::gpu {

// Whether a family takes the instruction.
Decision IsKernel(const Instruction& instruction);
absl::StatusOr<KernelPlan> EmitInstruction(const Instruction& instruction,
                                           const FamilyOptions& options);
// The pairs that may share a buffer.
BufferPairs KernelInPlacePairs(const Instruction& instruction);

}  // namespace hlo::gpu
