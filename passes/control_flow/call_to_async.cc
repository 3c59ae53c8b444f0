#include "passes/control_flow/call_to_async.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/async_overlap.h"
#include "lib/analysis/side_effects.h"
#include "lib/ir/builder.h"
#include "lib/ir/control_edges.h"
#include "passes/util/background_calls.h"

namespace hlo {
namespace {

constexpr std::string_view kMainThread = "main";
constexpr std::string_view kAnyThread = "background";

// Shorter work is not worth waking a thread for.
constexpr double kWorthWaking = 5e-6;

// "sum-done" of "sum", or of "sum-start".
std::string DoneName(std::string_view start) {
  constexpr std::string_view kStart = "-start";
  const size_t at = start.rfind(kStart);
  if (at == std::string_view::npos) return fmt::format("{}-done", start);
  return fmt::format("{}-done{}", start.substr(0, at), start.substr(at + kStart.size()));
}

using CallSet = absl::flat_hash_set<const Instruction*>;

// One computation with marked calls.
class PairMaker {
 public:
  PairMaker(Computation& computation, const Durations& durations, SideEffects& effects)
      : computation_(computation),
        given_(computation.SequenceOrPostOrder()),
        durations_(durations),
        effects_(effects) {
    for (size_t i = 0; i < given_.size(); ++i) number_[given_[i]] = i;
  }

  absl::Status Run(absl::Span<Instruction* const> marked, PassContext& context) {
    CallSet kept(marked.begin(), marked.end());
    std::vector<Instruction*> order = Order(kept);
    // From the last one on: what runs beside a call may be one that has become a plain call.
    for (size_t i = order.size(); i-- > 0;) {
      Instruction* const call = order[i];
      if (!kept.contains(call) || FrontendAttribute(*call, kBackgroundWish) == "true") continue;
      if (!HasCompany(order, i)) kept.erase(call);
    }
    if (kept.size() < marked.size()) order = Order(kept);
    for (Instruction* call : marked) {
      if (kept.contains(call)) continue;
      context.Missed(*call, "nothing runs beside it");
      UnmarkForBackground(call);
    }
    if (kept.empty()) return absl::OkStatus();
    return MakePairs(kept, order, context);
  }

 private:
  // What the instruction comes after; `waits`: after it has ended, where it is a marked call.
  template <class Fn>
  void ForEachEarlier(const Instruction& instruction, size_t last_in_turn, const Fn& fn) const {
    for (const Instruction* operand : instruction.operands()) fn(number_.at(operand), true);
    for (const Instruction* earlier : instruction.control_predecessors())
      fn(number_.at(earlier), true);
    // Devices need not wait for a meeting before they come to the next one.
    if (last_in_turn != given_.size()) fn(last_in_turn, !IsMeeting(*given_[last_in_turn]));
  }

  // A marked call that has no other effect than to meet other devices.
  static bool IsMeeting(const Instruction& instruction) {
    return !BackgroundThreadOf(instruction).empty() && MeetsOthers(*instruction.to_apply()) &&
           !HasOtherEffects(*instruction.to_apply());
  }
  static bool HasOtherEffects(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions()) {
      if (instruction->HasOwnSideEffect() && !HasTrait(instruction->opcode(), kCollective))
        return true;
      for (const Computation* callee : instruction->calls()) {
        if (HasOtherEffects(*callee)) return true;
      }
    }
    return false;
  }

  bool IsInTurn(const Instruction& instruction) const {
    return effects_.Of(instruction) || HasTrait(instruction.opcode(), kCollective) ||
           instruction.opcode() == Opcode::kRng || IsMeeting(instruction);
  }

  // By how many dones an instruction waits for; of those with the same number, what leads to a
  // start first.
  std::vector<Instruction*> Order(const CallSet& kept) const {
    std::vector<int> level(given_.size(), 0);
    std::vector<size_t> before(given_.size(), given_.size());  // the one in turn before
    size_t last_in_turn = given_.size();
    for (size_t i = 0; i < given_.size(); ++i) {
      if (IsInTurn(*given_[i])) before[i] = std::exchange(last_in_turn, i);
      ForEachEarlier(*given_[i], before[i], [&](size_t earlier, bool waits) {
        const bool is_pair = waits && kept.contains(given_[earlier]);
        level[i] = std::max(level[i], level[earlier] + (is_pair ? 1 : 0));
      });
    }
    std::vector<bool> leads(given_.size(), false);
    for (size_t i = given_.size(); i-- > 0;) {
      leads[i] = leads[i] || kept.contains(given_[i]);
      if (!leads[i]) continue;
      ForEachEarlier(*given_[i], before[i], [&](size_t earlier, bool /*waits*/) {
        if (level[earlier] == level[i]) leads[earlier] = true;
      });
    }
    std::vector<size_t> order(given_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    absl::c_stable_sort(order, [&](size_t a, size_t b) {
      return std::pair(level[a], !leads[a]) < std::pair(level[b], !leads[b]);
    });
    std::vector<Instruction*> sequence;
    for (const size_t i : order) sequence.push_back(given_[i]);
    return sequence;
  }

  static bool Uses(const Instruction& instruction, const Instruction* call) {
    const auto before = instruction.control_predecessors();
    const auto operands = instruction.operands();
    return absl::c_linear_search(operands, call) || absl::c_linear_search(before, call);
  }

  // Whether something of weight stands between the start and the done of the call at `at`.
  bool HasCompany(absl::Span<Instruction* const> order, size_t at) const {
    for (size_t i = at + 1; i < order.size() && !Uses(*order[i], order[at]); ++i) {
      const Instruction& other = *order[i];
      const bool is_worth = !BackgroundThreadOf(other).empty() && !IsMeeting(other);
      if (is_worth || other.opcode() == Opcode::kCustomCall || durations_.Of(other) >= kWorthWaking)
        return true;
    }
    return false;
  }

  absl::Status MakePairs(const CallSet& kept, absl::Span<Instruction* const> order,
                         PassContext& context) {
    std::vector<Instruction*> sequence;
    // Starts whose dones are to come, with what they replace.
    std::vector<std::pair<Instruction*, Instruction*>> open;
    const auto close = [&](Instruction* start, Instruction* call) -> absl::Status {
      ASSIGN_OR_RETURN(Instruction * done, MakeDone(start, call));
      sequence.push_back(done);
      return absl::OkStatus();
    };
    for (Instruction* instruction : order) {
      for (size_t i = 0; i < open.size();) {
        if (!Uses(*instruction, open[i].second)) {
          ++i;
          continue;
        }
        RETURN_IF_ERROR(close(open[i].first, open[i].second));
        open.erase(open.begin() + static_cast<int64_t>(i));
      }
      if (!kept.contains(instruction)) {
        sequence.push_back(instruction);
        continue;
      }
      context.Passed(*instruction, "runs beside what follows it");
      context.Count("pairs");
      ASSIGN_OR_RETURN(Instruction * start, MakeStart(instruction));
      sequence.push_back(start);
      open.emplace_back(start, instruction);
    }
    for (const auto& [start, call] : open) RETURN_IF_ERROR(close(start, call));
    computation_.set_schedule(std::move(sequence));
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> MakeStart(Instruction* call) {
    const std::string_view marked = BackgroundThreadOf(*call);
    AsyncAttrs attrs;
    attrs.async_execution_thread = std::string(marked == kMainThread ? kAnyThread : marked);
    MoveToThread(*call->to_apply(), attrs.async_execution_thread);
    Builder b(&computation_, call);
    Instruction* const start = b.OpWithShape(
        Opcode::kAsyncStart, Shape::Tuple({Shape::Tuple(call->operand_shapes()), call->shape()}),
        call->operand_vector(), AttrsPtr::Make(std::move(attrs)),
        std::vector<Computation*>{call->to_apply()});
    RETURN_IF_ERROR(b.status());
    start->module().MoveName(*call, start);
    MoveControlPredecessors(call, start);
    return start;
  }

  absl::StatusOr<Instruction*> MakeDone(Instruction* start, Instruction* call) {
    Builder b(&computation_, call);
    Instruction* const done =
        b.OpWithShape(Opcode::kAsyncDone, call->shape(), {start}, start->attrs_ptr());
    RETURN_IF_ERROR(b.status());
    done->module().Rename(done, DoneName(start->name()));
    computation_.Replace(call, done);
    return done;
  }

  // The computation and all it calls.
  static void MoveToThread(Computation& computation, std::string_view thread) {
    computation.set_execution_thread(thread);
    for (Instruction* instruction : computation.instructions()) {
      // What runs asynchronously in there has a thread already.
      if (instruction->opcode() == Opcode::kAsyncStart) continue;
      for (Computation* callee : instruction->calls()) MoveToThread(*callee, thread);
    }
  }

  Computation& computation_;
  const std::vector<Instruction*> given_;
  const Durations& durations_;
  SideEffects& effects_;
  absl::flat_hash_map<const Instruction*, size_t> number_;  // looked up only
};

}  // namespace

absl::StatusOr<bool> CallToAsync::Run(Module& module, PassContext& context) {
  bool changed = false;
  std::vector<std::pair<Computation*, std::vector<Instruction*>>> work;
  for (Computation* computation : context.Computations(module, {Opcode::kCall})) {
    std::vector<Instruction*> marked;
    for (Instruction* call : computation->SequenceOrPostOrder()) {
      if (BackgroundThreadOf(*call).empty()) continue;
      // Half of them is no order: all or none.
      if (!changed && !context.MayRewrite()) return false;
      changed = true;
      if (call->to_apply()->callers().size() == 1) {
        marked.push_back(call);
      } else {
        context.Missed(*call, fmt::format("others call `{}`, too", call->to_apply()->name()));
        UnmarkForBackground(call);
      }
    }
    if (!marked.empty()) work.emplace_back(computation, std::move(marked));
  }
  if (work.empty()) return changed;
  SideEffects& effects = context.analyses().Get<SideEffects>(module);
  const Durations durations(module, RatesOf("cpu"));
  for (auto& [computation, marked] : work)
    RETURN_IF_ERROR(PairMaker(*computation, durations, effects).Run(marked, context));
  return true;
}

HLO_DEFINE_PASS(CallToAsync)

}  // namespace hlo
