#include "tools/reduce/steps.h"

namespace hlo {

void ReduceAll(Reducer& reducer) {
  // What tidying removes may be what the failure needs; then it stays for the steps to try.
  reducer.set_step("dead code");
  reducer.set_removes_parameters(false);
  if (!reducer.TryTidy()) reducer.set_removes_dead(false);
  reducer.set_removes_parameters(true);
  if (!reducer.TryTidy()) reducer.set_removes_parameters(false);

  using Step = bool (*)(Reducer&);
  // The largest bites first; loops are unrolled before edits make them endless.
  constexpr Step kSteps[] = {DropAttributes,    CutEnd,          CutStart,
                             DropOutputs,       InlineBodies,    ReplaceInstructions,
                             SimplifyConstants, TakeTuplesApart, NarrowLoops,
                             NarrowSorts,       NarrowCalls,     TakeOneElement,
                             MergeParameters,   ShrinkShapes};
  for (bool again = true; again && !reducer.is_done();) {
    again = false;
    for (const Step step : kSteps) again |= !reducer.is_done() && step(reducer);
  }
  TidyNames(reducer);
}

}  // namespace hlo
