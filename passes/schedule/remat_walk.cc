#include "passes/schedule/remat_walk.h"

#include <algorithm>

#include "passes/util/channels.h"

namespace hlo::remat {

Walk::Walk(Module& module, PassContext& context, Model& model, Peaks& peaks, Peaks& kept)
    : context_(context),
      model_(model),
      peaks_(peaks),
      kept_(kept),
      effects_(context.analyses().Get<SideEffects>(module)),
      next_channel_(NextChannelId(module)) {}

bool Walk::Run(Computation& computation, int64_t limit,
               std::function<bool(const Computation&)> runs) {
  runs_ = std::move(runs);
  Visit(computation, limit);
  return changed_;
}

void Walk::Visit(Computation& computation, int64_t limit) {
  // What it calls may have come to need less since it was measured.
  if (model_.is_peak_priority())
    peaks_.Set(computation, peaks_.Measure(computation.SequenceOrPostOrder()).bytes);
  if (peaks_.Of(computation) <= limit || !gone_through_.insert(&computation).second) return;
  State state(computation, context_);
  for (Item* item = state.sequence.first(); item != nullptr; item = item->next)
    item->can_be_recomputed = CanBeRecomputed(*item->instruction, effects_);
  if (model_.is_peak_priority()) {
    LowerPeaks(state, limit);
  } else {
    GoThrough(state, limit);
  }
  Close(state);
}

void Walk::VisitCallees(const Instruction& caller, int64_t limit) {
  for (Computation* callee : RunCallees(caller)) {
    if (runs_(*callee)) Visit(*callee, limit);
  }
}

void Walk::MarkLarge(const MemoryTracker& memory) const {
  for (Item* item = memory.sequence().first(); item != nullptr; item = item->next)
    item->is_large = memory.BytesMade(*item) >= model_.options().min_remat_size;
}

bool Walk::May() {
  may_ = may_ && context_.MayRewrite();
  return may_;
}

// ---- always ----

void Walk::GoThrough(State& state, int64_t limit) {
  MemoryTracker memory(model_, state.sequence);
  MarkLarge(memory);
  Candidates candidates(memory, limit, peaks_.Of(state.computation));
  Rewriter rewriter(memory, state.edits, next_channel_);
  int64_t peak = 0;
  for (Item* item = state.sequence.first(); item != nullptr; item = item->next) {
    int64_t inside = peaks_.Inside(*item->instruction);
    memory.Begin(item);
    if (memory.BytesMade(*item) + inside > 0)
      NeedLess(memory, candidates, rewriter, limit - inside);
    if (memory.bytes() + inside > limit) {
      VisitCallees(*item->instruction, std::max<int64_t>(0, limit - memory.bytes()));
      inside = peaks_.Inside(*item->instruction);
    }
    peak = std::max(peak, memory.bytes() + inside);
    memory.End();
  }
  peaks_.Set(state.computation, peak);
}

// Looks for single instructions first, for blocks as long as that is not much more work.
void Walk::NeedLess(const MemoryTracker& memory, Candidates& candidates, Rewriter& rewriter,
                    int64_t limit) {
  const RematerializationOptions& options = model_.options();
  int64_t smallest = 1, largest = 1;
  bool is_first = true;
  double first_effort = 0, second_effort = 0;
  while (memory.bytes() > limit) {
    const Choice choice = candidates.Pick(smallest, largest);
    (is_first ? first_effort : second_effort) += static_cast<double>(choice.effort);
    if (!choice.items.empty()) {
      if (!May()) return;
      rewriter.Do(choice);
      smallest = largest = 1;
    } else {
      smallest = largest + 1;
      largest *= 2;
      is_first = false;
    }
    if (largest > options.block_size_limit ||
        second_effort > options.block_rematerialization_factor * first_effort)
      return;
  }
}

// ---- peak_priority ----

// Costs are shares of the limit; of a small one all would be the same.
constexpr int64_t kLeastCostLimit = int64_t{1} << 30;

void Walk::LowerPeaks(State& state, int64_t limit) {
  MemoryPeak peak = peaks_.Measure(state.sequence.Instructions());
  while (peak.bytes > limit && LowerPeak(peak, state, limit)) {
    peak = peaks_.Measure(state.sequence.Instructions());
    peaks_.Set(state.computation, peak.bytes);
  }
}

// Whether something was done, at the peak or in what is called before it.
bool Walk::LowerPeak(const MemoryPeak& peak, State& state, int64_t limit) {
  MemoryTracker memory(model_, state.sequence);
  MarkLarge(memory);
  Candidates candidates(memory, std::max(limit, kLeastCostLimit), peaks_.Of(state.computation));
  Rewriter rewriter(memory, state.edits, next_channel_);
  for (Item* item = state.sequence.first(); item != nullptr; item = item->next) {
    if (state.sequence.IsDead(*item->instruction)) continue;
    const int64_t inside = peaks_.Inside(*item->instruction);
    memory.Begin(item);
    bool changed = item->instruction == peak.at &&
                   LowerHere(memory, candidates, rewriter, peak.bytes - inside);
    if (memory.bytes() + inside > limit) {
      const bool was_changed = std::exchange(changed_, false);
      VisitCallees(*item->instruction, std::max<int64_t>(0, limit - memory.bytes()));
      changed = changed || changed_;
      changed_ = changed_ || was_changed;
    }
    memory.End();
    if (changed) return true;
  }
  return false;
}

// Until less than `bytes` are needed here.
bool Walk::LowerHere(const MemoryTracker& memory, Candidates& candidates, Rewriter& rewriter,
                     int64_t bytes) {
  bool changed = false;
  for (int64_t largest = 1; memory.bytes() >= bytes;) {
    const Choice choice = candidates.Pick(1, largest);
    if (!choice.items.empty()) {
      if (!May()) return changed;
      rewriter.Do(choice);
      changed = true;
      largest = 1;
    } else {
      largest *= 2;
    }
    if (largest > model_.options().block_size_limit) break;
  }
  return changed;
}

// ---- the end of a computation ----

// Keeps the changes unless more memory is needed than before: what is computed again needs its
// operands once more, perhaps at the wrong time.
void Walk::Close(State& state) {
  const int64_t before = kept_.Of(state.computation);
  const std::vector<Instruction*> changed = Needed(state);
  const int64_t after = kept_.Measure(changed).bytes;
  if (!state.edits.empty() && after <= before) {
    state.edits.Commit();
    changed_ = true;
    kept_.Set(state.computation, after);
    return;
  }
  if (!state.edits.empty()) {
    state.edits.Undo();
    context_.Missed(*state.computation.root(),
                    fmt::format("computing again would take `{}` from {} to {} bytes",
                                state.computation.name(), before, after));
  }
  const std::vector<Instruction*> sequence = state.computation.SequenceOrPostOrder();
  kept_.Set(state.computation, kept_.Measure(sequence).bytes);
  peaks_.Set(state.computation, peaks_.Measure(sequence).bytes);
}

// Without what nobody needs any more.
std::vector<Instruction*> Walk::Needed(const State& state) {
  absl::flat_hash_set<const Instruction*> needed;  // looked up only
  const std::vector<Instruction*> sequence = state.sequence.Instructions();
  std::vector<Instruction*> kept;
  for (size_t i = sequence.size(); i-- > 0;) {
    Instruction* const instruction = sequence[i];
    const bool stays = instruction == state.computation.root() ||
                       instruction->has_control_edges() ||
                       instruction->opcode() == Opcode::kParameter || effects_.Of(*instruction) ||
                       absl::c_any_of(instruction->uses(),
                                      [&](const Use& use) { return needed.contains(use.user); });
    if (!stays) continue;
    needed.insert(instruction);
    kept.push_back(instruction);
  }
  absl::c_reverse(kept);
  return kept;
}

}  // namespace hlo::remat
