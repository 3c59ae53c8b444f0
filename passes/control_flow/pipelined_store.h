// Collectives of a loop whose results are only stored, slice by slice, in an element of its state:
//
//   c = f32[8] all-reduce(x)
//   v = f32[1,8] reshape(c)
//   ROOT t = (…) tuple(…, dynamic-update-slice(get-tuple-element(p, e), v, i, 0), …)
//
// Nothing in the loop reads element e but that update, so that the slices may be stored later, in
// the same order. Or they are only given to an operation whose one result is a token of the state:
//
//   ROOT t = (…) tuple(…, custom-call(v, get-tuple-element(p, e)), …)
#pragma once

#include <vector>

#include "passes/control_flow/pipelined_loop.h"
#include "passes/pass.h"

namespace hlo {

// What moves together: values on their way from collectives to where they are stored.
struct PipelinedStore {
  std::vector<Instruction*> collectives;  // forward: one
  // What is made of them, in the order of the body, with the constants that are read on the way.
  std::vector<Instruction*> between;
  std::vector<Instruction*> updates;  // forward: one, or a sink
  Instruction* sink = nullptr;        // forward: what takes the values and gives a token

  // Where the values end.
  Instruction* end() const { return sink != nullptr ? sink : updates.front(); }
};

enum class StoreTarget {
  kNextIteration,  // any slice; one update
  kAfterLoop,      // the slices of an array in order, one in each iteration; operations that may
                   // be done for all iterations at once
};

std::vector<PipelinedStore> FindPipelinedStores(const PipelinedLoop& loop,
                                                const PipelineLimits& limits, StoreTarget target,
                                                PassContext& context);

// The element of the state that `update`, or what is updated further of its result, writes.
int StoredElement(const Instruction& update);
// Which of the start indices of `update` is no constant, as an operand.
int MovingIndex(const Instruction& update);

// What the `between` and the collectives of `store` read that is made elsewhere; the operands of
// the collectives first.
std::vector<Instruction*> InputsOf(const PipelinedStore& store);

// Marks what an earlier run of a pipeline has moved (`last_run=false`): custom calls of the value
// and the level that it has reached.
inline constexpr std::string_view kInsertedByPreviousStep = "InsertedByPreviousStep";
bool IsMarked(const Instruction& value);
// The level of a mark.
int64_t MarkedLevel(const Instruction& mark);

}  // namespace hlo
