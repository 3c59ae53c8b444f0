// What the CPU's kernel families can compute inside a fused loop, by opcode and type. Used by the
// fusion pass to build fusions and by the back end to decide which single instructions are kernels.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo::cpu {

// Whether a kernel can compute the instruction (as a fusion's root or inside it).
Decision IsFusible(const Instruction& instruction);

// Costs about as much as a load: worth computing again in each consumer.
bool IsCheapToRepeat(const Instruction& instruction);

// Takes tens of cycles per element: never computed more often than written.
bool IsExpensive(const Instruction& instruction);

}  // namespace hlo::cpu
