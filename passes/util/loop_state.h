// Changing what a loop carries from one iteration to the next.
#pragma once

#include <functional>
#include <vector>

#include "lib/ir/builder.h"

namespace hlo {

// How the old elements of the state of a loop follow from new ones.
struct StateChange {
  // The first values of the new elements, in the computation of the loop.
  std::vector<Instruction*> init;
  // For each array of the new state (tuples flattened) the array of the old state that it was; -1:
  // none. Shardings follow it.
  std::vector<int64_t> old_leaf;
  // Old element `i`, read from a value `state` of the new form; called for the body, the condition
  // and the result of the loop.
  std::function<Instruction*(Builder& builder, Instruction* state, int64_t i)> view;
  // New element `k` at the end of the body; `old_next(i)` is what old element `i` would become.
  std::function<Instruction*(Builder& builder, Instruction* state,
                             const std::function<Instruction*(int64_t i)>& old_next, int64_t k)>
      next;
};

// Gives `loop`, whose state is a tuple and whose computations nobody else calls, another state.
// What is no longer needed stays for dce. Indices in the backend config follow `old_leaf`; when it
// names an element that is gone, it goes.
absl::Status ChangeLoopState(Instruction* loop, const StateChange& change);

// A change that keeps the elements with `keep[i]`; `view_of_dropped` gives the others from a new
// state and a function that reads an old element that was kept.
using ViewOfDropped = std::function<Instruction*(
    Builder& builder, int64_t i, const std::function<Instruction*(int64_t kept)>& read)>;
absl::Status DropLoopElements(Instruction* loop, const std::vector<bool>& keep,
                              const ViewOfDropped& view_of_dropped);

// Element `i` of a tuple: its operand where it is built (and may be read twice), else a
// get-tuple-element of it.
Instruction* ReadElement(Builder& builder, Instruction* tuple, int64_t i);
// What `value` is, through tuples that are built in its computation and read again.
Instruction* ThroughTuples(Instruction* value);

// Whether all uses of `tuple` are get-tuple-elements and it is no root.
bool OnlyElementsRead(const Instruction& tuple);
// Whether what reads `element` out of `tuple`, which is built of it, may read it itself: what is
// under way, or a buffer, has one reader, which may be a tuple that others read.
bool MayPassBy(const Instruction& tuple, const Instruction& element);
// Whether `value` is get-tuple-element(parameter, i) in its computation.
bool IsParameterElement(const Instruction& value, int64_t i);

}  // namespace hlo
