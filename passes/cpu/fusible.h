// What the CPU's kernels can compute: cheap questions about one instruction, for the fusion pass and
// for the back end. Whether a group of instructions makes a good kernel is for the fusion pass to
// say.
//
// A fusion may hold elementwise instructions, movements, reductions and, as its root, a scatter. A
// fused `reduce` must not be computed more than once: that is the case when its users inside the
// fusion have its shape (an epilogue), or broadcast it along its reduced dimensions and these are
// the minor-most ones (rows: softmax, normalisation). The back end undoes a fusion that it cannot
// emit.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "lib/ir/instruction.h"
#include "lib/support/decision.h"
#include "lib/types/cumulative_window.h"

namespace hlo::cpu {

// Element i of the result depends on element i of the operands, and the types are ones kernels
// compute with.
bool IsFusibleElementwise(const Instruction& instruction);

// Moves elements: broadcast, reshape, bitcast, transpose, slice, pad, concatenate, reverse, iota,
// constant, dynamic-slice, gather (and dynamic-update-slice, which as part of a fusion copies its
// whole operand).
bool IsFusibleMovement(const Instruction& instruction);

// A reduce (one or several operands) whose computation works on scalars only.
bool IsFusibleReduce(const Instruction& instruction);
// The reduced dimensions are the minor-most ones: a row per result.
bool IsRowReduce(const Instruction& instruction);

// A scatter whose computation works on scalars only. In a fusion it must be the root.
bool IsFusibleScatter(const Instruction& instruction);

// Of a reduce-window; empty for all others.
std::optional<CumulativeWindow> CumulativeWindowOf(const Instruction& instruction);

// Whether a computation (to_apply, a comparator) can be computed lane by lane.
bool IsScalarRegion(const Computation& computation);

// Whether a kernel computes this instruction, alone (fusions: every instruction inside).
Decision IsKernel(const Instruction& instruction);

// Whether the fusion pass may put the instruction into a kernel with others.
Decision IsFusible(const Instruction& instruction);

// Costs about as much as a load: worth computing again in each consumer.
bool IsCheapToRepeat(const Instruction& instruction);

// More than an addition or two: computed again only where the array is small.
bool IsExpensive(const Instruction& instruction);

// Costs about as much as ten additions or more: not to be computed twice.
bool IsCostly(const Instruction& instruction);

// Error for an elementwise instruction on element types nothing here computes with.
absl::Status CheckElementTypes(const Instruction& instruction);

}  // namespace hlo::cpu
