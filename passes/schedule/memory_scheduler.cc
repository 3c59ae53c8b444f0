#include "passes/schedule/memory_scheduler.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/values.h"
#include "lib/ops/attrs.h"
#include "lib/support/check.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// Instructions of the computation by their place in it.
using Number = uint32_t;
using Sequence = std::vector<Number>;

// Lists of numbers, in one vector.
class Lists {
 public:
  explicit Lists(size_t count) : ranges_(count) {}
  std::span<const Number> operator[](Number i) const {
    return std::span(items_).subspan(ranges_[i].first, ranges_[i].second - ranges_[i].first);
  }
  // The list of `i` is what has been added since the last call.
  void Close(Number i) {
    ranges_[i] = {open_, static_cast<Number>(items_.size())};
    open_ = ranges_[i].second;
  }
  void Add(Number item) { items_.push_back(item); }
  // How many of the list of `i` there are; they stand first from now on.
  template <class Is>
  Number MoveToFront(Number i, const Is& is) {
    const auto begin = items_.begin() + ranges_[i].first;
    return static_cast<Number>(
        std::stable_partition(begin, items_.begin() + ranges_[i].second, is) - begin);
  }
  // The lists turned around: j is in the list of i, of `count`, where i was in that of j; in
  // ascending order.
  Lists Inverse(size_t count) const {
    Lists inverse(count);
    std::vector<Number> ends(count + 1, 0);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      for (const Number item : (*this)[static_cast<Number>(i)]) ++ends[item + 1];
    }
    for (size_t i = 0; i < count; ++i) {
      ends[i + 1] += ends[i];
      inverse.ranges_[i] = {ends[i], ends[i]};
    }
    inverse.items_.resize(items_.size());
    for (size_t i = 0; i < ranges_.size(); ++i) {
      for (const Number item : (*this)[static_cast<Number>(i)])
        inverse.items_[inverse.ranges_[item].second++] = static_cast<Number>(i);
    }
    return inverse;
  }

 private:
  std::vector<std::pair<Number, Number>> ranges_;
  std::vector<Number> items_;
  Number open_ = 0;
};

// Sequences of one computation, and what they cost.
class Schedules {
 public:
  // `number`: the place of each instruction in its computation; those of values that are made here
  // are filled in.
  Schedules(const Computation& computation, Sequence post_order, const Values& values,
            const InstructionMap<Number>& number, std::vector<Number>& numbers_of_values)
      : instructions_(computation.instruction_vector()),
        order_(std::move(post_order)),
        number_(number),
        root_(number.Get(computation.root())),
        operands_(instructions_.size()),
        users_(0),
        needs_(instructions_.size()),
        waiting_(0),
        makes_(instructions_.size()),
        made_bytes_(instructions_.size(), 0),
        reads_(instructions_.size()),
        handed_(instructions_.size(), 0),
        touches_(instructions_.size()),
        elements_of_(instructions_.size()),
        element_counts_(instructions_.size(), 0),
        tuples_of_(0) {
    const size_t count = instructions_.size();
    stamp_.assign(count, 0);
    for (Number i = 0; i < count; ++i) {
      const Instruction& instruction = *instructions_[i];
      NewStamp();
      for (const Instruction* operand : instruction.operands()) {
        if (IsNew(NumberOf(operand))) operands_.Add(NumberOf(operand));
      }
      operands_.Close(i);
      has_edges_ = has_edges_ || !instruction.control_predecessors().empty();
    }
    users_ = operands_.Inverse(count);
    if (has_edges_) FindNeeds();
    FindValues(values, numbers_of_values);
  }

  Sequence PostOrder() const { return order_; }
  std::vector<Instruction*> Instructions(const Sequence& sequence) const {
    std::vector<Instruction*> result;
    result.reserve(sequence.size());
    for (const Number i : sequence) result.push_back(instructions_[i]);
    return result;
  }

  Sequence Dfs() const {
    struct Above {
      int64_t extra_users = 0;
      int64_t bytes = 0;
    };
    std::vector<Above> above(instructions_.size());
    int64_t all_bytes = 0;
    for (const Number i : order_) {
      if (IsGiven(*instructions_[i])) continue;
      const auto users = static_cast<int64_t>(users_[i].size());
      Above sum{users == 0 ? 0 : users - 1, made_bytes_[i]};
      all_bytes += sum.bytes;
      for (const Number operand : operands_[i]) {
        sum.extra_users += above[operand].extra_users;
        sum.bytes += above[operand].bytes;
      }
      above[i] = {std::min(sum.extra_users, static_cast<int64_t>(order_.size())),
                  std::min(sum.bytes, all_bytes)};
    }
    const auto first = [&](Number a, Number b) {
      if (above[a].extra_users != above[b].extra_users)
        return above[a].extra_users > above[b].extra_users;
      if (above[a].bytes != above[b].bytes) return above[a].bytes > above[b].bytes;
      return instructions_[a]->name() < instructions_[b]->name();
    };
    enum class State : uint8_t { kNew, kEntered, kDone };
    std::vector<State> states(instructions_.size(), State::kNew);
    Sequence sequence;
    sequence.reserve(instructions_.size());
    Sequence stack, before;
    const auto visit = [&](Number root) {
      stack.push_back(root);
      while (!stack.empty()) {
        const Number top = stack.back();
        if (states[top] != State::kNew) {
          if (states[top] == State::kEntered) sequence.push_back(top);
          states[top] = State::kDone;
          stack.pop_back();
          continue;
        }
        states[top] = State::kEntered;
        before.assign(Needs(top).begin(), Needs(top).end());
        absl::c_sort(before, first);
        for (size_t i = before.size(); i-- > 0;) {
          if (states[before[i]] == State::kNew) stack.push_back(before[i]);
        }
      }
    };
    for (Number i = 0; i < instructions_.size(); ++i) {
      if (Waiting(i).empty() && i != root_) visit(i);
    }
    visit(root_);
    for (const Number i : order_) visit(i);
    return sequence;
  }

  Sequence Bfs() const {
    std::vector<size_t> missing = Missing();
    std::deque<Number> ready;
    for (Number i = 0; i < instructions_.size(); ++i) {
      if (missing[i] == 0) ready.push_back(i);
    }
    Sequence sequence;
    while (!ready.empty()) {
      const Number next = ready.front();
      ready.pop_front();
      sequence.push_back(next);
      for (const Number waiting : Waiting(next)) {
        if (--missing[waiting] == 0) ready.push_back(waiting);
      }
    }
    return sequence;
  }

  Sequence List() const {
    ReadyList ready(*this);
    for (Number i = 0; i < instructions_.size(); ++i) {
      if (ready.missing[i] == 0) ready.Put(i);
    }
    Sequence sequence;
    while (const std::optional<Number> next = ready.TakeBest()) {
      sequence.push_back(*next);
      const bool is_last_use = ready.TouchValues(*next);
      for (const Number waiting : Waiting(*next)) {
        if (--ready.missing[waiting] == 0) ready.Put(waiting);
      }
      if (!is_last_use) continue;
      // Who is the last to use something frees it now.
      for (const Number operand : operands_[*next]) {
        for (const Number user : users_[operand]) ready.PutAgain(user);
      }
    }
    return sequence;
  }

  // The largest number of bytes that are live at a time. `peak_of`: bytes that a called computation
  // needs.
  template <class PeakOf>
  int64_t Peak(const Sequence& sequence, const PeakOf& peak_of) const {
    std::vector<int64_t> readers = reader_counts_;
    int64_t live = 0, peak = 0;
    for (const Number i : sequence) {
      const std::span<const Number> reads = reads_[i];
      const auto free = [&](std::span<const Number> values) {
        for (const Number value : values) {
          if (--readers[value] == 0) live -= bytes_[value];
        }
      };
      free(reads.first(handed_[i]));
      live += made_bytes_[i];
      int64_t inside = 0;
      for (const Computation* callee : instructions_[i]->calls())
        inside = std::max(inside, peak_of(*callee));
      peak = std::max(peak, live + inside);
      free(reads.subspan(handed_[i]));
      const auto [first, end] = makes_[i];
      for (Number value = first; value < end; ++value) {
        if (readers[value] == 0) live -= bytes_[value];  // nobody reads it
      }
    }
    return peak;
  }

 private:
  // What may run next, for List.
  class ReadyList {
   public:
    explicit ReadyList(const Schedules& of)
        : missing(of.Missing()),
          of_(of),
          uses_(of.touch_counts_),
          elements_left_(of.element_counts_),
          newest_(of.instructions_.size(), -1),
          priorities_(of.instructions_.size()) {}
    void Put(Number i) {
      priorities_[i] = PriorityOf(i);
      newest_[i] = turn_;
      queue_.push({priorities_[i], turn_++, i});
    }
    // If it is ready, and its priority is another one by now.
    void PutAgain(Number i) {
      if (newest_[i] >= 0 && priorities_[i] != PriorityOf(i)) Put(i);
    }
    std::optional<Number> TakeBest() {
      while (!queue_.empty()) {
        const Candidate best = queue_.top();
        queue_.pop();
        if (newest_[best.i] != best.turn) continue;  // there is a newer entry
        newest_[best.i] = -1;
        return best.i;
      }
      return std::nullopt;
    }

    // Notes that `i` has run: whether there is one more use now of something that it touched.
    bool TouchValues(Number i) {
      bool is_last_use = false;
      for (const Number value : of_.touches_[i]) {
        --uses_[value];
        is_last_use |= UsesLeft(value) == 1;
      }
      if (!of_.IsElement(i)) return is_last_use;
      const Number tuple = of_.operands_[i][0];
      if (--elements_left_[tuple] > 1) return is_last_use;
      for (const Number value : of_.elements_of_[tuple]) is_last_use |= UsesLeft(value) == 1;
      return is_last_use;
    }

    std::vector<size_t> missing;

   private:
    using Priority = std::pair<int64_t, int64_t>;  // bytes that it frees, users
    struct Candidate {
      Priority priority;
      int64_t turn;  // later ones win ties
      Number i;
      bool operator<(const Candidate& other) const {
        return std::tie(priority, turn) < std::tie(other.priority, other.turn);
      }
    };
    Priority PriorityOf(Number i) const {
      constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
      const Instruction& instruction = *of_.instructions_[i];
      const Shape shape = instruction.shape();
      if (shape.IsArray() && shape.IsEffectiveScalar()) return {kMost, kMost};
      const auto users = static_cast<int64_t>(of_.users_[i].size());
      // Whoever is at the other end has more time for his work.
      if (instruction.opcode() == Opcode::kOutfeed &&
          !instruction.attrs<OutfeedAttrs>().outfeed_config.empty())
        return {std::numeric_limits<int32_t>::max(), users};
      if (instruction.opcode() == Opcode::kInfeed &&
          !instruction.attrs<InfeedAttrs>().infeed_config.empty())
        return {std::numeric_limits<int32_t>::min(), users};
      int64_t bytes = -of_.made_bytes_[i];
      const auto free_last = [&](std::span<const Number> values) {
        for (const Number value : values) {
          if (UsesLeft(value) == 1) bytes += of_.bytes_[value];
        }
      };
      free_last(of_.touches_[i]);
      // As long as other elements are to come, they use all of it, too.
      if (of_.IsElement(i) && elements_left_[of_.operands_[i][0]] == 1)
        free_last(of_.elements_of_[of_.operands_[i][0]]);
      return {bytes, users};
    }

    // Of a value, that are still to come.
    int64_t UsesLeft(Number value) const {
      int64_t left = uses_[value];
      for (const Number tuple : of_.tuples_of_[value]) left += elements_left_[tuple];
      return left;
    }

    const Schedules& of_;
    std::vector<int64_t> uses_;           // by value, that are still to come, but for elements
    std::vector<int64_t> elements_left_;  // by tuple: get-tuple-elements that are still to come
    std::priority_queue<Candidate> queue_;
    std::vector<int64_t> newest_;  // by instruction: the turn of its entry that counts, or -1
    std::vector<Priority> priorities_;
    int64_t turn_ = 0;
  };

  static bool IsGiven(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kParameter || instruction.IsConstant();
  }
  Number NumberOf(const Instruction* instruction) const { return number_.Get(instruction); }
  bool IsElement(Number i) const { return instructions_[i]->opcode() == Opcode::kGetTupleElement; }

  void FindNeeds() {
    for (Number i = 0; i < instructions_.size(); ++i) {
      NewStamp();
      for (const Number operand : operands_[i]) {
        if (IsNew(operand)) needs_.Add(operand);
      }
      for (const Instruction* predecessor : instructions_[i]->control_predecessors()) {
        if (IsNew(NumberOf(predecessor))) needs_.Add(NumberOf(predecessor));
      }
      needs_.Close(i);
    }
    waiting_ = needs_.Inverse(instructions_.size());
  }
  // Operands and control predecessors, distinct, and for whom an instruction is one.
  std::span<const Number> Needs(Number i) const { return has_edges_ ? needs_[i] : operands_[i]; }
  std::span<const Number> Waiting(Number i) const { return has_edges_ ? waiting_[i] : users_[i]; }

  // How many operands and control predecessors each instruction waits for.
  std::vector<size_t> Missing() const {
    std::vector<size_t> missing;
    missing.reserve(instructions_.size());
    for (Number i = 0; i < instructions_.size(); ++i) missing.push_back(Needs(i).size());
    return missing;
  }

  // Which values each instruction makes and reads, whatever they are called. What comes from
  // outside, and constants, need no memory here; what a call returns does.
  void FindValues(const Values& all, std::vector<Number>& numbers) {
    std::vector<absl::Span<const ValueId>> of(instructions_.size());
    // Of values that are made here, and of others.
    const Computation* const here = instructions_[root_]->parent();
    absl::flat_hash_map<ValueId, Number> foreign;  // looked up only
    const auto number_of = [&](ValueId id) -> Number& {
      if (all[id].def->parent() == here) return numbers[static_cast<size_t>(id)];
      return foreign.try_emplace(id, kUnknown).first->second;
    };
    for (const Number i : order_) {
      const Instruction& instruction = *instructions_[i];
      of[i] = all.Of(instruction);
      const bool is_outside = IsGiven(instruction);
      makes_[i].first = static_cast<Number>(bytes_.size());
      for (const ValueId id : of[i]) {
        Number& number = number_of(id);
        if (number != kUnknown) continue;
        number = is_outside ? kOutside : static_cast<Number>(bytes_.size());
        if (is_outside) continue;
        const Shape shape = all[id].shape;
        bytes_.push_back(shape.IsArray() ? shape.byte_size() : 0);
        made_bytes_[i] += bytes_.back();
      }
      makes_[i].second = static_cast<Number>(bytes_.size());
    }
    stamp_.assign(bytes_.size(), 0);
    reader_counts_.assign(bytes_.size(), 0);
    touch_counts_.assign(bytes_.size(), 0);
    const auto is_new_here = [&](Number value) { return value != kOutside && IsNew(value); };
    const auto read_values_of = [&](Number instruction) {
      for (const ValueId id : of[instruction]) {
        const Number value = number_of(id);
        if (!is_new_here(value)) continue;
        reads_.Add(value);
        ++reader_counts_[value];
      }
    };
    for (const Number i : order_) {
      NewStamp();
      const Instruction& instruction = *instructions_[i];
      // What a start holds is needed until its done.
      if (all.Reads(instruction) || HasTrait(instruction.opcode(), kAsyncDone)) {
        for (const Number operand : operands_[i]) read_values_of(operand);
      }
      reads_.Close(i);
      // What stays as it is in a loop is no beginning of a state.
      if (instruction.opcode() == Opcode::kWhile) {
        NewStamp();
        for (const ValueId id : of[i]) is_new_here(number_of(id));
        handed_[i] = reads_.MoveToFront(i, [this](Number value) { return IsNew(value); });
      }
    }
    FindTouches(of, number_of);
    // What the computation returns is live at the end.
    NewStamp();
    for (const ValueId id : of[root_]) {
      const Number value = number_of(id);
      if (!is_new_here(value)) continue;
      ++reader_counts_[value];
      ++touch_counts_[value];
    }
  }

  // What each instruction touches of these values, `of` each instruction, by `number_of` their ids.
  template <class NumberOfValue>
  void FindTouches(std::span<const absl::Span<const ValueId>> of, const NumberOfValue& number_of) {
    const auto add_values_of = [&](Number instruction, Lists& list) {
      for (const ValueId id : of[instruction]) {
        const Number value = number_of(id);
        if (value != kOutside && IsNew(value)) list.Add(value);
      }
    };
    for (Number i = 0; i < instructions_.size(); ++i) {
      NewStamp();
      for (const Number operand : operands_[i]) {
        if (IsElement(i)) {
          ++element_counts_[operand];
        } else {
          add_values_of(operand, touches_);
        }
      }
      touches_.Close(i);
      for (const Number value : touches_[i]) ++touch_counts_[value];
    }
    for (Number i = 0; i < instructions_.size(); ++i) {
      NewStamp();
      if (element_counts_[i] > 0) add_values_of(i, elements_of_);
      elements_of_.Close(i);
    }
    tuples_of_ = elements_of_.Inverse(bytes_.size());
  }

  // Tells apart what comes for the first time since NewStamp.
  void NewStamp() { ++last_stamp_; }
  bool IsNew(Number i) { return std::exchange(stamp_[i], last_stamp_) != last_stamp_; }

  std::vector<Instruction*> instructions_;
  Sequence order_;
  const InstructionMap<Number>& number_;
  Number root_;
  Lists operands_;  // distinct
  Lists users_;
  Lists needs_;    // where there are control edges; else like operands_
  Lists waiting_;  // likewise
  bool has_edges_ = false;
  // Values, numbered in the order in which they come up.
  static constexpr Number kUnknown = MemoryScheduler::kUnknown;
  static constexpr Number kOutside = kUnknown - 1;
  std::vector<std::pair<Number, Number>> makes_;  // by instruction: from, to
  std::vector<int64_t> made_bytes_;               // by instruction
  Lists reads_;                                   // by instruction, distinct
  std::vector<Number> handed_;  // by instruction: how many reads, the first, become its state
  // By instruction: all values of its operands, distinct. Elements of a tuple have all of it in
  // common, so this stands once: by tuple.
  Lists touches_;
  Lists elements_of_;
  std::vector<int64_t> element_counts_;                // by instruction: its get-tuple-elements
  Lists tuples_of_;                                    // by value: where it is among elements_of_
  std::vector<int64_t> bytes_;                         // by value
  std::vector<int64_t> reader_counts_, touch_counts_;  // by value, the end included
  std::vector<uint32_t> stamp_;
  uint32_t last_stamp_ = 0;
};

}  // namespace

absl::StatusOr<bool> MemoryScheduler::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  way_ = 0;
  numbers_ = InstructionMap<uint32_t>(module.id_limit());
  for (const Computation* computation : module.computations()) {
    uint32_t number = 0;
    for (const Instruction* instruction : computation->instructions())
      numbers_[instruction] = number++;
  }
  values_ = &context.analyses().Get<Values>(module);
  numbers_of_values_.assign(static_cast<size_t>(values_->count()), kUnknown);
  const bool was_scheduled = module.is_scheduled();
  TakeOrders(module);
  ASSIGN_OR_RETURN(const bool changed, PlannedPass::Run(module, context));
  module.set_scheduled(true);
  return changed || !was_scheduled;
}

// The values were found along the post-order of each computation, where there is no schedule yet.
void MemoryScheduler::TakeOrders(const Module& module) {
  orders_.assign(module.serial_limit(), {});
  if (module.is_scheduled()) return;
  for (const ProgramStep& step : values_->order()) {
    if (step.kind == ProgramStep::Kind::kVisit || step.kind == ProgramStep::Kind::kBegin)
      orders_[step.instruction->parent()->serial()].push_back(numbers_.Get(step.instruction));
  }
}

absl::StatusOr<MemorySchedule> MemoryScheduler::Plan(const Computation& computation,
                                                     const Plans& callees) const {
  Sequence order = std::move(orders_[computation.serial()]);
  if (order.empty()) {
    for (const Instruction* instruction : computation.PostOrder())
      order.push_back(numbers_.Get(instruction));
  }
  const Schedules schedules(computation, std::move(order), *values_, numbers_, numbers_of_values_);
  using Make = Sequence (Schedules::*)() const;
  // Of equal peaks the first one's.
  constexpr std::pair<std::string_view, Make> kAlgorithms[] = {{"list", &Schedules::List},
                                                               {"dfs", &Schedules::Dfs},
                                                               {"postorder", &Schedules::PostOrder},
                                                               {"bfs", &Schedules::Bfs}};
  MemorySchedule plan;
  for (const auto& [name, make] : kAlgorithms) {
    if (options_.algorithm == "default" ? name == "bfs" : options_.algorithm != name) continue;
    const Sequence sequence = (schedules.*make)();
    RET_CHECK(static_cast<int>(sequence.size()) == computation.instruction_count(),
              "the schedule of `{}` is incomplete", computation.name());
    const size_t way = plan.size();
    const int64_t peak = schedules.Peak(sequence, [&](const Computation& callee) {
      const MemorySchedule* other = callees.Of(callee);
      return other == nullptr ? 0 : (*other)[way].peak_bytes;
    });
    plan.push_back({schedules.Instructions(sequence), peak});
  }
  // One algorithm for all computations: what the entry needs says which.
  if (computation.is_entry()) {
    const auto best = absl::c_min_element(
        plan, [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
    way_ = static_cast<size_t>(best - plan.begin());
  }
  return plan;
}

absl::StatusOr<bool> MemoryScheduler::Apply(Computation& computation, MemorySchedule plan,
                                            PassContext& context) {
  ScheduledOrder& order = plan[way_];
  context.Found(*computation.root(), "`{}` needs {} bytes at its peak", computation.name(),
                order.peak_bytes);
  if (computation.has_schedule() && computation.schedule() == order.sequence) return false;
  computation.set_schedule(std::move(order.sequence));
  context.Count("scheduled computations");
  return true;
}

HLO_DEFINE_PASS(MemoryScheduler)

}  // namespace hlo
