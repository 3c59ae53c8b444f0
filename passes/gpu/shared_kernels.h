// What may share a kernel on a GPU, by the rules and numbers of XLA for NVIDIA GPUs.
//
// A kernel walks over memory in the way of its hero: a reduction that warps do, a transpose that
// goes through shared memory, or else its first output, which is a loop over the elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/ir/module.h"
#include "lib/support/decision.h"

namespace hlo {

// A transpose, or a copy to another layout, as a permutation of what lies in memory: dimensions of
// size 1 are gone, neighbours that stay neighbours are one.
struct TiledTranspose {
  DimVec sizes;        // of the result, major to minor
  DimVec permutation;  // which dimension of the operand each of them is
  friend bool operator==(const TiledTranspose&, const TiledTranspose&) = default;
};
// Of one that moves enough in the minor dimensions to go through shared memory.
std::optional<TiledTranspose> TiledTransposeOf(const Instruction& instruction);

// A step on the way from an output to its hero: elements keep their places in memory.
bool IsPassedThrough(const Instruction& instruction);
// Of a fusion or a single instruction.
const Instruction& HeroOf(const Instruction& kernel);
// Some output is a reduction that warps do, or is computed from one that no atomics end.
bool EndsWithReduction(const Instruction& kernel);
bool EndsWithTiledTranspose(const Instruction& kernel);
// A reduction of several arrays whose results loops compute one by one.
bool IsVariadicReductionInLoop(const Instruction& kernel);

// A loop over its result that can be a part of another.
bool IsLoopAsProducer(const Instruction& kernel);
// A kernel that can compute what it reads: a loop over its result, a reduction of any kind, a
// transpose through shared memory, a scatter.
bool CanComputeOperands(const Instruction& kernel);
// Whether its kernel is one of those with a hero or a scatter (kInput), no loop.
bool IsInputKernel(const Instruction& kernel);
// Puts what lies side by side elsewhere, in memory. Copies count whatever they do.
bool IsPhysicallyTransposing(const Instruction& kernel);

// Whether more outputs can be added to its kernel.
bool MayHaveMoreOutputs(const Instruction& kernel);
// Whether both are the same loop.
Decision HaveSameLoops(const Instruction& a, const Instruction& b);
// What a kernel takes of a multiprocessor; of a kernel of several parts, the sum of theirs.
struct KernelNeeds {
  int64_t shared_memory = 0;
  int64_t reductions = 0;  // by warps
};
KernelNeeds NeedsOf(const Instruction& kernel);
// Whether the kernel of both has the shared memory, the operands and outputs that a GPU gives it.
// When `a` is to compute what it reads of `b`, it may have as many operands as before.
Decision FitInOneKernel(const Instruction& a, const Instruction& b, bool a_reads_b = false);
// The same where their needs are known.
Decision FitInOneKernel(const Instruction& a, const KernelNeeds& of_a, const Instruction& b,
                        const KernelNeeds& of_b, bool a_reads_b);
// Whether half of the elements that a fusion makes or more are moved in memory.
bool TransposesMost(const Instruction& fusion);

// The instruction that makes the tuple of which `value` is an element, or `value`.
Instruction* ProducerOf(Instruction* value);
// Nobody reads it, directly or by get-tuple-element, but `consumer` and the root.
bool IsReadOnlyBy(const Instruction& value, const Instruction& consumer);
// Instructions, parameters among them; 1 of what is no fusion.
int64_t BodySize(const Instruction& kernel);
// The values that it yields, one or several; itself of what is no fusion.
std::vector<const Instruction*> OutputsOf(const Instruction& kernel);

// No tuple that is read as a whole, whose elements could not be given other numbers.
bool IsReadByElements(const Instruction& kernel);
// Whether the result is made by writing into an operand.
bool UpdatesInPlace(const Instruction& kernel);

// MergeOutputs of passes/fusion/fuse.h, or Absorb where nobody else reads `x`. What `x` called is
// gone if nothing else calls it.
void TakeIn(Instruction* fusion, Instruction* x);
// Makes a fusion of one instruction.
Instruction* WrapInFusion(Instruction* instruction, FusionKind kind);

}  // namespace hlo
