// The steps of a reduction. Each tries edits of one kind on the best module and says whether one of
// them was good.
#pragma once

#include "tools/reduce/reducer.h"

namespace hlo {

// ---- step_attributes.cc: what is written beside the graph ----
// Metadata, shardings, frontend attributes, backend configs, control edges, layouts, the schedule,
// the module's configuration.
bool DropAttributes(Reducer& reducer);

// ---- step_cut.cc: whole parts of the entry computation ----
// Ends the program earlier: the values of a first part become the outputs.
bool CutEnd(Reducer& reducer);
// Starts the program later: the values of a first part become parameters.
bool CutStart(Reducer& reducer);
// Fewer outputs.
bool DropOutputs(Reducer& reducer);
// One element of a tuple that a loop or a call makes. Not before bodies are inlined: it may be the
// wrong one to see into them.
bool TakeOneElement(Reducer& reducer);

// ---- step_instructions.cc ----
// An operand, a parameter or zeros in the place of instructions.
bool ReplaceInstructions(Reducer& reducer);
// Elements of tuples read directly; parameters of tuples taken apart.
bool TakeTuplesApart(Reducer& reducer);
// One parameter in the place of several of the same shape.
bool MergeParameters(Reducer& reducer);

// ---- step_calls.cc ----
// Bodies of calls, fusions, branches and loops in their place, once.
bool InlineBodies(Reducer& reducer);
// Fewer values carried by loops.
bool NarrowLoops(Reducer& reducer);
// Fewer arrays sorted or reduced together.
bool NarrowSorts(Reducer& reducer);
// Fewer operands of calls and fusions.
bool NarrowCalls(Reducer& reducer);

// ---- step_constants.cc ----
// Large constants become parameters or one repeated value, scalars small; integers go down to
// shorten loops.
bool SimplifyConstants(Reducer& reducer);

// ---- step_shapes.cc ----
// Smaller dimensions, everywhere at once.
bool ShrinkShapes(Reducer& reducer);

// ---- step_names.cc ----
// Short names in place of those that are left.
bool TidyNames(Reducer& reducer);

// All of them, again and again until nothing more can be done.
void ReduceAll(Reducer& reducer);

}  // namespace hlo
