#include "passes/schedule/memory_orders.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

#include "absl/algorithm/container.h"
#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using MemoryNumber = MemoryValues::Number;

// How many others each instruction waits for.
std::vector<size_t> CountNeeds(const MemoryValues& of) {
  std::vector<size_t> missing;
  missing.reserve(of.instructions.size());
  for (MemoryNumber i = 0; i < of.instructions.size(); ++i) missing.push_back(of.needs[i].size());
  return missing;
}

// ---- list ----

// What may run next.
class ReadyList {
 public:
  explicit ReadyList(const MemoryValues& of)
      : missing(CountNeeds(of)),
        of_(of),
        uses_(of.touch_counts),
        elements_left_(of.element_counts),
        newest_(of.instructions.size(), -1),
        priorities_(of.instructions.size()) {}
  void Put(MemoryNumber i) {
    priorities_[i] = PriorityOf(i);
    newest_[i] = turn_;
    queue_.push({priorities_[i], turn_++, i});
  }
  // If it is ready, and its priority is another one by now.
  void PutAgain(MemoryNumber i) {
    if (newest_[i] >= 0 && priorities_[i] != PriorityOf(i)) Put(i);
  }
  std::optional<MemoryNumber> TakeBest() {
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
  bool TouchValues(MemoryNumber i) {
    bool is_last_use = false;
    for (const MemoryNumber value : of_.touches[i]) {
      --uses_[value];
      is_last_use |= UsesLeft(value) == 1;
    }
    if (!of_.IsElement(i)) return is_last_use;
    const MemoryNumber tuple = of_.operands[i][0];
    if (--elements_left_[tuple] > 1) return is_last_use;
    for (const MemoryNumber value : of_.elements_of[tuple]) is_last_use |= UsesLeft(value) == 1;
    return is_last_use;
  }

  std::vector<size_t> missing;

 private:
  using Priority = std::pair<int64_t, int64_t>;  // bytes that it frees, users
  struct Candidate {
    Priority priority;
    int64_t turn;  // later ones win ties
    MemoryNumber i;
    bool operator<(const Candidate& other) const {
      return std::tie(priority, turn) < std::tie(other.priority, other.turn);
    }
  };
  Priority PriorityOf(MemoryNumber i) const {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const Instruction& instruction = *of_.instructions[i];
    const Shape shape = instruction.shape();
    if (shape.IsArray() && shape.IsEffectiveScalar()) return {kMost, kMost};
    const auto users = static_cast<int64_t>(of_.users[i].size());
    // Whoever is at the other end has more time for his work.
    if (instruction.opcode() == Opcode::kOutfeed &&
        !instruction.attrs<OutfeedAttrs>().outfeed_config.empty())
      return {std::numeric_limits<int32_t>::max(), users};
    if (instruction.opcode() == Opcode::kInfeed &&
        !instruction.attrs<InfeedAttrs>().infeed_config.empty())
      return {std::numeric_limits<int32_t>::min(), users};
    int64_t bytes = -of_.defined_bytes[i];
    const auto free_last = [&](std::span<const MemoryNumber> values) {
      for (const MemoryNumber value : values) {
        if (UsesLeft(value) == 1) bytes += of_.bytes[value];
      }
    };
    free_last(of_.touches[i]);
    // As long as other elements are to come, they use all of it, too.
    if (of_.IsElement(i) && elements_left_[of_.operands[i][0]] == 1)
      free_last(of_.elements_of[of_.operands[i][0]]);
    return {bytes, users};
  }

  // Of a value, that are still to come.
  int64_t UsesLeft(MemoryNumber value) const {
    int64_t left = uses_[value];
    for (const MemoryNumber tuple : of_.tuples_of[value]) left += elements_left_[tuple];
    return left;
  }

  const MemoryValues& of_;
  std::vector<int64_t> uses_;           // by value, that are still to come, but for elements
  std::vector<int64_t> elements_left_;  // by tuple: get-tuple-elements that are still to come
  std::priority_queue<Candidate> queue_;
  std::vector<int64_t> newest_;  // by instruction: the turn of its entry that counts, or -1
  std::vector<Priority> priorities_;
  int64_t turn_ = 0;
};

// ---- depth first ----

struct Above {
  int64_t extra_users = 0;
  int64_t bytes = 0;
};

// By instruction, of all on the ways that lead to it: what counts twice is bounded by all there is.
std::vector<Above> FindAbove(const MemoryValues& of) {
  std::vector<Above> above(of.instructions.size());
  int64_t all_bytes = 0;
  for (const MemoryNumber i : of.order) {
    if (MemoryValues::IsGiven(*of.instructions[i])) continue;
    const auto users = static_cast<int64_t>(of.users[i].size());
    Above sum{users == 0 ? 0 : users - 1, of.defined_bytes[i]};
    all_bytes += sum.bytes;
    for (const MemoryNumber operand : of.operands[i]) {
      sum.extra_users += above[operand].extra_users;
      sum.bytes += above[operand].bytes;
    }
    above[i] = {std::min(sum.extra_users, static_cast<int64_t>(of.order.size())),
                std::min(sum.bytes, all_bytes)};
  }
  return above;
}

}  // namespace

MemoryOrder ListOrder(const MemoryValues& of) {
  ReadyList ready(of);
  for (MemoryNumber i = 0; i < of.instructions.size(); ++i) {
    if (ready.missing[i] == 0) ready.Put(i);
  }
  MemoryOrder sequence;
  while (const std::optional<MemoryNumber> next = ready.TakeBest()) {
    sequence.push_back(*next);
    const bool is_last_use = ready.TouchValues(*next);
    for (const MemoryNumber waiting : of.waiting[*next]) {
      if (--ready.missing[waiting] == 0) ready.Put(waiting);
    }
    if (!is_last_use) continue;
    // Who is the last to use something frees it now.
    for (const MemoryNumber operand : of.operands[*next]) {
      for (const MemoryNumber user : of.users[operand]) ready.PutAgain(user);
    }
  }
  return sequence;
}

MemoryOrder DepthFirstOrder(const MemoryValues& of) {
  const std::vector<Above> above = FindAbove(of);
  const auto first = [&](MemoryNumber a, MemoryNumber b) {
    if (above[a].extra_users != above[b].extra_users)
      return above[a].extra_users > above[b].extra_users;
    if (above[a].bytes != above[b].bytes) return above[a].bytes > above[b].bytes;
    return of.instructions[a]->name() < of.instructions[b]->name();
  };
  enum class State : uint8_t { kNew, kEntered, kDone };
  std::vector<State> states(of.instructions.size(), State::kNew);
  MemoryOrder sequence;
  sequence.reserve(of.instructions.size());
  MemoryOrder stack, before;
  const auto visit = [&](MemoryNumber end) {
    stack.push_back(end);
    while (!stack.empty()) {
      const MemoryNumber top = stack.back();
      if (states[top] != State::kNew) {
        if (states[top] == State::kEntered) sequence.push_back(top);
        states[top] = State::kDone;
        stack.pop_back();
        continue;
      }
      states[top] = State::kEntered;
      before.assign(of.needs[top].begin(), of.needs[top].end());
      absl::c_sort(before, first);
      for (size_t i = before.size(); i-- > 0;) {
        if (states[before[i]] == State::kNew) stack.push_back(before[i]);
      }
    }
  };
  for (MemoryNumber i = 0; i < of.instructions.size(); ++i) {
    if (of.waiting[i].empty() && i != of.root) visit(i);
  }
  visit(of.root);
  for (const MemoryNumber i : of.order) visit(i);
  return sequence;
}

MemoryOrder BreadthFirstOrder(const MemoryValues& of) {
  std::vector<size_t> missing = CountNeeds(of);
  std::deque<MemoryNumber> ready;
  for (MemoryNumber i = 0; i < of.instructions.size(); ++i) {
    if (missing[i] == 0) ready.push_back(i);
  }
  MemoryOrder sequence;
  while (!ready.empty()) {
    const MemoryNumber next = ready.front();
    ready.pop_front();
    sequence.push_back(next);
    for (const MemoryNumber waiting : of.waiting[next]) {
      if (--missing[waiting] == 0) ready.push_back(waiting);
    }
  }
  return sequence;
}

}  // namespace hlo
