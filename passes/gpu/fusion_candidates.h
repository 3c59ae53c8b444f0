// Which kernels may be made one of two; what that is worth is not asked here.
#pragma once

#include "lib/ir/instruction.h"
#include "lib/support/decision.h"
#include "passes/gpu/performance_model.h"

namespace hlo {

// Whether an instruction can be a part of a kernel, or a kernel that takes in others.
bool CanBeInKernel(const Instruction& instruction);
// A bitcast that a kernel can do: its elements keep their width.
bool IsFusibleBitcast(const Instruction& instruction);
// Of a scatter no result is taken in, nor its array or what else reads it.
Decision KeepsScatter(const Instruction& producer, const Instruction& consumer);
// Whether an emitter would write down little enough when `consumer` computes its operand `producer`
// itself.
Decision IsSmallEnough(const Instruction& consumer, const KernelModel& of_consumer,
                       const Instruction& producer, const KernelModel& of_producer);
// Whether `consumer` may compute its operand `producer` itself; both can be in kernels.
Decision CanTakeIn(const Instruction& consumer, const KernelModel& of_consumer,
                   const Instruction& producer, const KernelModel& of_producer);

}  // namespace hlo
