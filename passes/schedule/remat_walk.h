// Goes through the computations of a module for `rematerialization`, callers first, and does what
// is best wherever one is over its limit.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "passes/schedule/remat_peaks.h"
#include "passes/schedule/remat_rewrite.h"

namespace hlo::remat {

class Walk {
 public:
  // `peaks`: as they are counted while choosing. `kept`: of what is kept; they decide about that.
  Walk(Module& module, PassContext& context, Model& model, Peaks& peaks, Peaks& kept);

  // `computation` and what it calls of what `runs` says yes to. Whether something was changed.
  bool Run(Computation& computation, int64_t limit, std::function<bool(const Computation&)> runs);

 private:
  // One computation and how far it has come.
  struct State {
    Computation& computation;
    Sequence sequence;
    Edits edits;
    State(Computation& c, PassContext& context)
        : computation(c), sequence(c.SequenceOrPostOrder()), edits(c, sequence, context) {}
  };

  void Visit(Computation& computation, int64_t limit);
  void VisitCallees(const Instruction& caller, int64_t limit);
  void MarkLarge(const MemoryTracker& memory) const;
  bool May();

  void GoThrough(State& state, int64_t limit);
  void NeedLess(const MemoryTracker& memory, Candidates& candidates, Rewriter& rewriter,
                int64_t limit);

  void LowerPeaks(State& state, int64_t limit);
  bool LowerPeak(const MemoryPeak& peak, State& state, int64_t limit);
  bool LowerHere(const MemoryTracker& memory, Candidates& candidates, Rewriter& rewriter,
                 int64_t bytes);

  void Close(State& state);
  std::vector<Instruction*> Needed(const State& state);

  PassContext& context_;
  Model& model_;
  Peaks& peaks_;
  Peaks& kept_;
  SideEffects& effects_;
  int64_t next_channel_;
  std::function<bool(const Computation&)> runs_;
  absl::flat_hash_set<const Computation*> gone_through_;  // looked up only
  bool changed_ = false;
  bool may_ = true;
};

}  // namespace hlo::remat
