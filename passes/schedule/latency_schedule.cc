#include "passes/schedule/latency_schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

// What may run now, the best first.
enum ReadyClass : size_t { kStart, kBeforeStart, kOther, kReadyClasses };

template <class T>
void SortAndUnique(std::vector<T>& items) {
  absl::c_sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

struct LatencySchedule::State {
  std::vector<size_t> missing;
  std::vector<uint32_t> readers;
  std::vector<double> ends;  // of what a start has begun
  std::array<std::set<Number>, kReadyClasses> ready;
  std::set<std::pair<double, Number>> under_way;  // dones, by the time at which they are over
  std::vector<Number> sequence;
  double now = 0;
  int64_t live = 0, peak = 0;
};

LatencySchedule::LatencySchedule(std::vector<Instruction*> given, const Values& values,
                                 const Durations& durations,
                                 const std::function<int64_t(const Instruction&)>& inside,
                                 const std::function<bool(const Instruction&)>& has_effect)
    : given_(std::move(given)), nodes_(given_.size()) {
  FindNeeds(has_effect);
  FindPairs(durations);
  FindValues(values);
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].inside = inside(*given_[i]);
}

void LatencySchedule::FindNeeds(const std::function<bool(const Instruction&)>& has_effect) {
  absl::flat_hash_map<const Instruction*, Number> numbers;  // looked up only
  for (Number i = 0; i < given_.size(); ++i) numbers[given_[i]] = i;
  Number last_effect = kNone;
  for (Number i = 0; i < given_.size(); ++i) {
    Node& node = nodes_[i];
    for (const Instruction* operand : given_[i]->operands())
      node.needs.push_back(numbers.at(operand));
    for (const Instruction* earlier : given_[i]->control_predecessors())
      node.needs.push_back(numbers.at(earlier));
    if (has_effect(*given_[i])) {
      if (last_effect != kNone) node.needs.push_back(last_effect);
      last_effect = i;
    }
    SortAndUnique(node.needs);
    for (const Number need : node.needs) nodes_[need].waiting.push_back(i);
    const Instruction* const start = StartOfDone(*given_[i]);
    if (start == nullptr || start->parent() != given_[i]->parent()) continue;
    node.start = numbers.at(start);
    nodes_[node.start].is_start = has_pairs_ = true;
  }
}

void LatencySchedule::FindPairs(const Durations& durations) {
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    node.seconds = durations.Of(*given_[i]);
    if (node.is_start) node.background = durations.InBackground(*given_[i]);
    node.leads_to_start = node.is_start || absl::c_any_of(node.waiting, [this](Number user) {
                            return nodes_[user].leads_to_start;
                          });
  }
}

// The first instruction that has a value makes it, wherever it is computed; what comes from outside
// needs no memory here.
void LatencySchedule::FindValues(const Values& values) {
  absl::flat_hash_map<ValueId, Number> numbers;  // looked up only
  for (Number i = 0; i < given_.size(); ++i) {
    const Instruction& instruction = *given_[i];
    const bool is_outside = instruction.opcode() == Opcode::kParameter || instruction.IsConstant();
    for (const ValueId value : values.Of(instruction)) {
      const auto number = static_cast<Number>(bytes_.size());
      if (!numbers.try_emplace(value, is_outside ? kNone : number).second || is_outside) continue;
      const Shape shape = values[value].shape;
      bytes_.push_back(shape.IsArray() ? shape.byte_size() : 0);
      nodes_[i].makes.push_back(number);
    }
    // What a start holds is needed until its done.
    if (!values.Reads(instruction) && nodes_[i].start == kNone) continue;
    for (const Instruction* operand : instruction.operands()) {
      for (const ValueId value : values.Of(*operand)) {
        if (numbers.at(value) != kNone) nodes_[i].reads.push_back(numbers.at(value));
      }
    }
    SortAndUnique(nodes_[i].reads);
  }
  readers_.assign(bytes_.size(), 0);
  for (const Node& node : nodes_) {
    for (const Number value : node.reads) ++readers_[value];
  }
  if (given_.empty()) return;
  std::vector<Number> results;
  for (const ValueId value : values.Of(*given_[0]->parent()->root())) {
    if (numbers.at(value) != kNone) results.push_back(numbers.at(value));
  }
  SortAndUnique(results);
  for (const Number value : results) ++readers_[value];
}

int64_t LatencySchedule::Made(Number i) const {
  int64_t bytes = 0;
  for (const Number value : nodes_[i].makes) bytes += bytes_[value];
  return bytes;
}

int64_t LatencySchedule::Needed(Number i) const { return std::max(Made(i), nodes_[i].inside); }

// Runs `i`, keeps the account, and finds what may run after it.
void LatencySchedule::Run(State& state, Number i) const {
  const Node& node = nodes_[i];
  if (node.start != kNone) state.now = std::max(state.now, state.ends[node.start]);
  state.now += node.seconds;
  state.ends[i] = state.now + node.background;
  state.peak = std::max(state.peak, state.live + Needed(i));
  state.live += Made(i);
  for (const Number value : node.reads) {
    if (--state.readers[value] == 0) state.live -= bytes_[value];
  }
  for (const Number value : node.makes) {
    if (state.readers[value] == 0) state.live -= bytes_[value];  // nobody reads it
  }
  state.sequence.push_back(i);
}

// ---- the order that hides ----

LatencySchedule::Number LatencySchedule::Choose(State& state, int64_t limit_bytes) const {
  while (!state.under_way.empty() && state.under_way.begin()->first <= state.now) {
    const Number done = state.under_way.begin()->second;
    state.under_way.erase(state.under_way.begin());
    state.ready[nodes_[done].leads_to_start ? kBeforeStart : kOther].insert(done);
  }
  Number least = kNone;
  int64_t least_growth = std::numeric_limits<int64_t>::max();
  const auto fits = [&](Number i) {
    if (state.live + Needed(i) <= limit_bytes) return true;
    int64_t growth = Made(i);
    for (const Number value : nodes_[i].reads)
      growth -= state.readers[value] == 1 ? bytes_[value] : 0;
    if (growth < least_growth) {
      least_growth = growth;
      least = i;
    }
    return false;
  };
  for (std::set<Number>& ready : state.ready) {
    const auto at = absl::c_find_if(ready, fits);
    if (at == ready.end()) continue;
    const Number chosen = *at;
    ready.erase(at);
    return chosen;
  }
  const auto waits =
      absl::c_find_if(state.under_way, [&](const auto& done) { return fits(done.second); });
  const Number chosen = waits != state.under_way.end() ? waits->second : least;
  for (std::set<Number>& ready : state.ready) ready.erase(chosen);
  std::erase_if(state.under_way, [chosen](const auto& done) { return done.second == chosen; });
  return chosen;
}

LatencySchedule::Order LatencySchedule::Hiding(int64_t limit_bytes) const {
  State state{.missing = {}, .readers = readers_, .ends = std::vector<double>(nodes_.size(), 0)};
  const auto add = [&](Number i) {
    const Node& node = nodes_[i];
    if (node.start != kNone) {
      state.under_way.emplace(state.ends[node.start], i);
    } else {
      state.ready[node.is_start ? kStart : node.leads_to_start ? kBeforeStart : kOther].insert(i);
    }
  };
  for (Number i = 0; i < nodes_.size(); ++i) {
    state.missing.push_back(nodes_[i].needs.size());
    if (nodes_[i].needs.empty()) add(i);
  }
  while (state.sequence.size() < nodes_.size()) {
    const Number next = Choose(state, limit_bytes);
    Run(state, next);
    for (const Number waiting : nodes_[next].waiting) {
      if (--state.missing[waiting] == 0) add(waiting);
    }
  }
  Order order{.peak_bytes = state.peak, .seconds = state.now};
  for (const Number i : state.sequence) order.sequence.push_back(given_[i]);
  return order;
}

LatencySchedule::Order LatencySchedule::Given() const {
  State state{.missing = {}, .readers = readers_, .ends = std::vector<double>(nodes_.size(), 0)};
  for (Number i = 0; i < nodes_.size(); ++i) Run(state, i);
  return {given_, state.peak, state.now};
}

}  // namespace hlo
