// What kernels can compute: cheap questions about one instruction, the same for all code
// generators. What a fusion may be is for the target to say (fusion_target.h), whether a group of
// instructions makes a good kernel for the fusion pass.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/ir/instruction.h"
#include "lib/support/decision.h"
#include "lib/types/cumulative_window.h"

namespace hlo {

// Where an instruction may stand in a kernel.
enum class KernelPlace : uint8_t {
  kNone,
  kAnywhere,
  kRoot,   // computes the whole result of its kernel
  kAlone,  // anywhere in a given fusion, but fusion passes leave it a kernel of its own
};

// Element i of the result depends on element i of the operands, and the types are ones kernels
// compute with.
bool IsFusibleElementwise(const Instruction& instruction);

// Moves elements: broadcast, reshape, bitcast, transpose, slice, pad, concatenate, reverse, iota,
// constant, dynamic-slice, gather (and dynamic-update-slice, which as part of a fusion copies its
// whole operand).
bool IsFusibleMovement(const Instruction& instruction);

// Of a reduce-window; empty for all others.
std::optional<CumulativeWindow> CumulativeWindowOf(const Instruction& instruction);

// Whether a computation (to_apply, a comparator) can be computed lane by lane.
bool IsScalarRegion(const Computation& computation);

// Whether a kernel computes this instruction, alone; no fusion.
Decision IsKernelOp(const Instruction& instruction);
// Where it may stand in one.
KernelPlace KernelPlaceOf(Opcode opcode);

// Whether the fusion pass may put the instruction into a kernel with others.
Decision IsFusible(const Instruction& instruction);

// Whether a transpose puts the most minor dimension larger than 1 elsewhere: its elements are not
// read in the order of memory.
bool MovesMinorDimension(const Instruction& transpose);

// Whether a concatenation only makes the vectors of indices that gathers read: each asks for one
// position of the joined dimension at a time, so the parts are never joined.
bool IsIndexVector(const Instruction& concatenate);

// Costs about as much as a load: worth computing again in each consumer.
bool IsCheapToRepeat(const Instruction& instruction);

// More than an addition or two (lib/analysis/cost.h): computed again only where the array is small.
bool IsExpensive(const Instruction& instruction);

}  // namespace hlo
