#include "passes/schedule/memory_scheduler.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <span>
#include <tuple>

#include "lib/analysis/alias.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

// Instructions of the computation by their place in it.
using Number = uint32_t;
using Sequence = std::vector<Number>;

int64_t ShapeBytes(Shape shape) {
  int64_t bytes = 0;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) bytes += leaf.byte_size();
  });
  return bytes;
}

int64_t BytesDefined(const Instruction& x) {
  if (x.opcode() == Opcode::kParameter || x.opcode() == Opcode::kConstant || IsAlias(x)) return 0;
  return ShapeBytes(x.shape());
}

// Lists of numbers, one per instruction, in one vector.
class Lists {
 public:
  explicit Lists(size_t count) : ranges_(count) {}
  std::span<const Number> operator[](Number i) const {
    return std::span(items_).subspan(ranges_[i].first, ranges_[i].second - ranges_[i].first);
  }
  // The list of `i` is what has been added since the last call.
  void Close(Number i) {
    ranges_[i] = {open_, items_.size()};
    open_ = items_.size();
  }
  void Add(Number item) { items_.push_back(item); }
  void Share(Number i, Number with) { ranges_[i] = ranges_[with]; }
  // The lists turned around: j is in the list of i where i was in that of j; in ascending order.
  Lists Inverse() const {
    Lists inverse(ranges_.size());
    std::vector<size_t> ends(ranges_.size() + 1, 0);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      for (const Number item : (*this)[static_cast<Number>(i)]) ++ends[item + 1];
    }
    for (size_t i = 0; i < ranges_.size(); ++i) {
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
  std::vector<std::pair<size_t, size_t>> ranges_;
  std::vector<Number> items_;
  size_t open_ = 0;
};

// Sequences of one computation, and what they cost.
class Schedules {
 public:
  // `number`: the place of each instruction in its computation. `peak_of`: bytes that a called
  // computation needs.
  template <class PeakOf>
  Schedules(const Computation& computation, const InstructionMap<Number>& number,
            const PeakOf& peak_of)
      : instructions_(computation.instruction_vector()),
        number_(number),
        root_(number.Get(computation.root())),
        operands_(instructions_.size()),
        needs_(instructions_.size()),
        reads_(instructions_.size()),
        users_(0),
        waiting_(0) {
    for (const Instruction* instruction : computation.PostOrder())
      order_.push_back(NumberOf(instruction));
    const size_t count = instructions_.size();
    stamp_.assign(count, 0);
    for (Number i = 0; i < count; ++i) {
      const Instruction& instruction = *instructions_[i];
      defined_.push_back(BytesDefined(instruction));
      int64_t inside = 0;
      for (int c = 0; c < instruction.call_count(); ++c)
        inside = std::max(inside, peak_of(*instruction.call(c)));
      inside_.push_back(inside);
      NewStamp();
      for (const Instruction* operand : instruction.operands()) {
        if (!IsNew(NumberOf(operand))) continue;
        operands_.Add(NumberOf(operand));
        needs_.Add(NumberOf(operand));
      }
      for (const Instruction* predecessor : instruction.control_predecessors()) {
        if (IsNew(NumberOf(predecessor))) needs_.Add(NumberOf(predecessor));
      }
      operands_.Close(i);
      needs_.Close(i);
    }
    users_ = operands_.Inverse();
    waiting_ = needs_.Inverse();
    FindReads();
  }

  const Sequence& PostOrder() const { return order_; }
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
      const auto users = static_cast<int64_t>(users_[i].size());
      Above sum{users == 0 ? 0 : users - 1, ShapeBytes(instructions_[i]->shape())};
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
        before.assign(needs_[top].begin(), needs_[top].end());
        std::sort(before.begin(), before.end(), first);
        for (size_t i = before.size(); i-- > 0;) {
          if (states[before[i]] == State::kNew) stack.push_back(before[i]);
        }
      }
    };
    for (Number i = 0; i < instructions_.size(); ++i) {
      if (waiting_[i].empty() && i != root_) visit(i);
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
      for (const Number waiting : waiting_[next]) {
        if (--missing[waiting] == 0) ready.push_back(waiting);
      }
    }
    return sequence;
  }

  Sequence List() const {
    std::vector<size_t> missing = Missing();
    std::vector<int64_t> readers = readers_;
    struct Candidate {
      int64_t bytes;
      int64_t users;
      int64_t turn;  // later ones win ties
      Number i;
      bool operator<(const Candidate& other) const {
        return std::tie(bytes, users, turn) < std::tie(other.bytes, other.users, other.turn);
      }
    };
    std::priority_queue<Candidate> ready;
    // Of each instruction that is ready, its newest entry in the queue; older ones do not count.
    std::vector<int64_t> newest(instructions_.size(), -1);
    int64_t turn = 0;
    const auto put = [&](Number i) {
      int64_t bytes = -defined_[i];
      for (const Number source : reads_[i]) {
        if (readers[source] == 1) bytes += defined_[source];
      }
      const Shape shape = instructions_[i]->shape();
      if (shape.IsArray() && shape.IsEffectiveScalar()) bytes = std::numeric_limits<int64_t>::max();
      newest[i] = turn;
      ready.push({bytes, static_cast<int64_t>(users_[i].size()), turn++, i});
    };
    for (const Number i : order_) {
      if (missing[i] == 0) put(i);
    }
    Sequence sequence;
    while (!ready.empty()) {
      const Candidate next = ready.top();
      ready.pop();
      if (newest[next.i] != next.turn) continue;
      newest[next.i] = -1;
      sequence.push_back(next.i);
      if (!IsAlias(*instructions_[next.i])) {
        for (const Number source : reads_[next.i]) {
          if (--readers[source] != 1) continue;
          // Its last reader now frees it.
          for (const Number user : users_[source]) {
            if (newest[user] >= 0) put(user);
          }
        }
      }
      for (const Number waiting : waiting_[next.i]) {
        if (--missing[waiting] == 0) put(waiting);
      }
    }
    return sequence;
  }

  // The largest number of bytes that are live at a time.
  int64_t Peak(const Sequence& sequence) const {
    std::vector<int64_t> readers = readers_;
    int64_t live = 0, peak = 0;
    for (const Number i : sequence) {
      if (IsAlias(*instructions_[i])) continue;
      live += defined_[i];
      peak = std::max(peak, live + inside_[i]);
      for (const Number source : reads_[i]) {
        if (--readers[source] == 0) live -= defined_[source];
      }
      if (readers_[i] == 0) live -= defined_[i];  // nobody reads it
    }
    return peak;
  }

 private:
  Number NumberOf(const Instruction* instruction) const { return number_.Get(instruction); }

  // How many operands and control predecessors each instruction waits for.
  std::vector<size_t> Missing() const {
    std::vector<size_t> missing;
    missing.reserve(instructions_.size());
    for (Number i = 0; i < instructions_.size(); ++i) missing.push_back(needs_[i].size());
    return missing;
  }

  // The values that each instruction reads, whatever they are called.
  void FindReads() {
    readers_.assign(instructions_.size(), 0);
    for (const Number i : order_) {
      const std::span<const Number> operands = operands_[i];
      if (operands.size() == 1 && IsAlias(*instructions_[operands[0]])) {
        reads_.Share(i, operands[0]);
      } else {
        NewStamp();
        for (const Number operand : operands) {
          if (!IsAlias(*instructions_[operand])) {
            if (IsNew(operand)) reads_.Add(operand);
            continue;
          }
          for (size_t k = 0; k < reads_[operand].size(); ++k) {
            if (const Number source = reads_[operand][k]; IsNew(source)) reads_.Add(source);
          }
        }
        reads_.Close(i);
      }
      if (IsAlias(*instructions_[i])) continue;
      for (const Number source : reads_[i]) ++readers_[source];
    }
    // What the computation returns is live at the end.
    if (IsAlias(*instructions_[root_])) {
      for (const Number source : reads_[root_]) ++readers_[source];
    } else {
      ++readers_[root_];
    }
  }

  // Tells apart what comes for the first time since NewStamp.
  void NewStamp() { ++last_stamp_; }
  bool IsNew(Number i) { return std::exchange(stamp_[i], last_stamp_) != last_stamp_; }

  std::vector<Instruction*> instructions_;
  const InstructionMap<Number>& number_;
  Number root_;
  Sequence order_;
  Lists operands_;  // distinct
  Lists needs_;     // distinct operands and control predecessors
  Lists reads_;
  Lists users_;
  Lists waiting_;  // for whom it is a need
  std::vector<int64_t> defined_;
  std::vector<int64_t> inside_;  // bytes of what it calls
  std::vector<int64_t> readers_;
  std::vector<uint32_t> stamp_;
  uint32_t last_stamp_ = 0;
};

}  // namespace

absl::StatusOr<bool> MemoryScheduler::Run(Module& module, PassContext& context) {
  const std::string& algorithm = options_.algorithm;
  if (algorithm != "default" && algorithm != "list" && algorithm != "dfs" && algorithm != "bfs" &&
      algorithm != "postorder") {
    return Error(
        "unknown scheduling algorithm `{}`; expected `default`, `list`, `dfs`, "
        "`postorder` or `bfs`",
        algorithm);
  }
  if (!context.MayRewrite()) return false;
  numbers_ = InstructionMap<uint32_t>(module.id_limit());
  for (const Computation* computation : module.computations()) {
    uint32_t number = 0;
    for (const Instruction* instruction : computation->instructions())
      numbers_[instruction] = number++;
  }
  const bool was_scheduled = module.is_scheduled();
  ASSIGN_OR_RETURN(const bool changed, PlannedPass::Run(module, context));
  module.set_scheduled(true);
  return changed || !was_scheduled;
}

absl::StatusOr<MemorySchedule> MemoryScheduler::Plan(const Computation& computation,
                                                     const Plans& callees) const {
  const Schedules schedules(computation, numbers_, [&](const Computation& callee) {
    const MemorySchedule* plan = callees.Of(callee);
    return plan == nullptr ? 0 : plan->peak_bytes;
  });
  const std::string& algorithm = options_.algorithm;
  Sequence sequence = algorithm == "list"  ? schedules.List()
                      : algorithm == "dfs" ? schedules.Dfs()
                      : algorithm == "bfs" ? schedules.Bfs()
                                           : schedules.PostOrder();
  int64_t peak = schedules.Peak(sequence);
  if (algorithm == "default") {
    // Of equal peaks the list's, then the depth-first one's.
    for (Sequence other : {schedules.Dfs(), schedules.List()}) {
      const int64_t of_other = schedules.Peak(other);
      if (of_other > peak) continue;
      peak = of_other;
      sequence = std::move(other);
    }
  }
  RET_CHECK(static_cast<int>(sequence.size()) == computation.instruction_count(),
            "the schedule of `{}` is incomplete", computation.name());
  return MemorySchedule{schedules.Instructions(sequence), peak};
}

absl::StatusOr<bool> MemoryScheduler::Apply(Computation& computation, MemorySchedule plan,
                                            PassContext& context) {
  context.Found(*computation.root(), "`{}` needs {} bytes at its peak", computation.name(),
                plan.peak_bytes);
  if (computation.has_schedule() && computation.schedule() == plan.sequence) return false;
  computation.set_schedule(std::move(plan.sequence));
  context.Count("scheduled computations");
  return true;
}

HLO_DEFINE_PASS(MemoryScheduler)

}  // namespace hlo
