// Lets a loop carry more, in place (passes/control_flow/widen_loop.h: by new computations).
#pragma once

#include <vector>

#include "lib/ir/builder.h"

namespace hlo {

// Whether CarryMore can change `loop`: nobody else calls its computations, they read its state
// element by element, and the body builds it, for the loop alone.
bool CanCarryMore(const Instruction& loop);

// Lets `loop` itself carry `values` as well. Returns the reads of them in its body, which hands
// them on.
absl::StatusOr<std::vector<Instruction*>> CarryMore(Instruction* loop,
                                                    const std::vector<Instruction*>& values);

// The elements of `tuple` that come first, as a tuple of their own.
Instruction* TuplePrefix(Builder& builder, Instruction* tuple, int64_t count);

// The elements of `tuple`, followed by `more`.
Instruction* TupleWithMore(Builder& builder, Instruction* tuple,
                           const std::vector<Instruction*>& more);

// The state `narrow` with elements for `more`.
Shape WideShape(Shape narrow, const std::vector<Instruction*>& more);

// What was said of the narrow state `old` holds for the wide one, `state`; `more` are the values of
// its other elements, of whose shardings nobody has said anything.
void WidenOrigin(const Instruction& old, Instruction* state, const std::vector<Instruction*>& more);
void WidenSharding(Instruction* state, Shape wide);

}  // namespace hlo
