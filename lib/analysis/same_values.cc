#include "lib/analysis/same_values.h"

#include <algorithm>
#include <numeric>

#include "lib/analysis/call_graph.h"

namespace hlo {
namespace {

using Ids = std::vector<ValueId>;

// Whether what the branches return may be one value, which then comes from outside of them.
bool HasOwnBranches(const Instruction& conditional) {
  const auto branches = conditional.calls();
  return branches.size() > 1 &&
         std::none_of(branches.begin(), branches.end(),
                      [](const Computation* branch) { return HasSeveralCallers(*branch); });
}

// Whether the value is one of its inputs, whichever way the program goes.
bool IsPhi(const Value& value) {
  if (value.inputs.empty()) return false;
  switch (value.kind) {
    case Value::Kind::kDefined: return false;
    case Value::Kind::kLoopState: return true;
    case Value::Kind::kBranch: return HasOwnBranches(*value.def);
    case Value::Kind::kShared: return value.def->opcode() == Opcode::kParameter;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(absl::Span<const Value> values)
      : values_(values), same_(values.size()), state_(values.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  Ids Find() {
    Ids phis;
    for (ValueId id = 0; id < std::ssize(values_); ++id) {
      if (IsPhi(values_[At(id)])) phis.push_back(id);
    }
    Simplify(phis);
    return std::move(same_);
  }

 private:
  struct State {
    int group = 0;   // of phis that are looked at together; 0: not a phi that is to be looked at
    int number = 0;  // in the order in which the search finds them; 0: not yet
    int lowest = 0;  // that can be reached
    bool on_stack = false;
  };
  struct Visit {
    ValueId phi;
    size_t next = 0;  // input
  };

  static size_t At(ValueId id) { return static_cast<size_t>(id); }

  // Strongly connected sets come after those that they read (Tarjan).
  void Simplify(const Ids& phis) {
    const int group = ++groups_;
    for (const ValueId phi : phis) state_[At(phi)] = {.group = group};
    for (const ValueId phi : phis) {
      if (state_[At(phi)].number == 0 && state_[At(phi)].group == group) Search(phi, group);
    }
  }

  void Search(ValueId from, int group) {
    std::vector<Visit> path;
    Ids stack;
    int count = 0;
    const auto enter = [&](ValueId phi) {
      State& state = state_[At(phi)];
      state.number = state.lowest = ++count;
      state.on_stack = true;
      stack.push_back(phi);
      path.push_back({phi});
    };
    enter(from);
    while (!path.empty()) {
      Visit& visit = path.back();
      const ValueId phi = visit.phi;
      const Ids& inputs = values_[At(phi)].inputs;
      if (visit.next < inputs.size()) {
        const ValueId input = inputs[visit.next++];
        State& other = state_[At(input)];
        if (other.group != group) continue;
        if (other.number == 0) {
          enter(input);
        } else if (other.on_stack) {
          state_[At(phi)].lowest = std::min(state_[At(phi)].lowest, other.number);
        }
        continue;
      }
      path.pop_back();
      const int lowest = state_[At(phi)].lowest;
      if (!path.empty()) {
        int& above = state_[At(path.back().phi)].lowest;
        above = std::min(above, lowest);
      }
      if (lowest == state_[At(phi)].number) Take(stack, phi);
    }
  }

  // The set that ends the stack.
  void Take(Ids& stack, ValueId first) {
    const auto begin = std::find(stack.rbegin(), stack.rend(), first).base() - 1;
    Ids set(begin, stack.end());
    stack.erase(begin, stack.end());
    std::sort(set.begin(), set.end());
    for (const ValueId phi : set) state_[At(phi)] = {};
    Resolve(set);
  }

  void Resolve(const Ids& set) {
    const auto is_inside = [&set](ValueId id) {
      return std::binary_search(set.begin(), set.end(), id);
    };
    Ids outer, inner;
    for (const ValueId phi : set) {
      bool reads_outside = false;
      for (const ValueId input : values_[At(phi)].inputs) {
        if (is_inside(input)) continue;
        reads_outside = true;
        outer.push_back(same_[At(input)]);
      }
      if (!reads_outside) inner.push_back(phi);
    }
    std::sort(outer.begin(), outer.end());
    outer.erase(std::unique(outer.begin(), outer.end()), outer.end());
    if (outer.size() == 1 && outer[0] < set[0]) {
      for (const ValueId phi : set) same_[At(phi)] = outer[0];
    } else if (!inner.empty() && inner.size() < set.size()) {
      Simplify(inner);
    }
  }

  absl::Span<const Value> values_;
  Ids same_;
  std::vector<State> state_;
  int groups_ = 0;
};

}  // namespace

bool HasSeveralCallers(const Computation& computation) {
  int calls = 0;
  for (const CallSite& site : computation.callers()) {
    if (CallKindOf(site.caller->opcode()) == CallKind::kControlFlow && ++calls > 1) return true;
  }
  return false;
}

std::vector<ValueId> FindSameValues(absl::Span<const Value> values) {
  return Finder(values).Find();
}

}  // namespace hlo
