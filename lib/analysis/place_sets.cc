#include "lib/analysis/place_sets.h"

#include <algorithm>

#include "lib/analysis/leaves.h"

namespace hlo {

bool NeedsMemory(Shape leaf) {
  if (leaf.IsBuffer()) return true;
  return leaf.IsArray() && (leaf.has_dynamic_dims() || leaf.byte_size() > 0);
}

PlaceSets::PlaceSets(const Values& values, Interference& interference)
    : values_(values),
      interference_(interference),
      sets_(values.count()),
      ties_(static_cast<size_t>(values.count())) {
  for (ValueId value = 0; value < values.count(); ++value) {
    members_.push_back({value});
  }
}

// ---- ties ----

void PlaceSets::TieEnds() {
  TieArguments();
  for (const ProgramStep& step : values_.order()) {
    if (!step.instruction->IsConstant()) continue;
    for (const ValueId value : values_.Of(*step.instruction)) Tied(value, {.is_kept = true});
  }
  TieResults();
}

void PlaceSets::TieArguments() {
  const Module& module = values_.module();
  for (const Instruction* parameter : module.entry()->parameters()) {
    const int first = static_cast<int>(given_for_.size());
    const absl::Span<const ValueId> leaves = values_.Of(*parameter);
    given_for_.resize(given_for_.size() + leaves.size(), -1);
    for (const InputOutputAlias& alias : module.config().aliases) {
      if (alias.parameter != parameter->parameter_number()) continue;
      const int64_t leaf = LeafNumber(parameter->shape(), alias.parameter_index);
      if (leaf < 0) continue;
      given_for_[static_cast<size_t>(first + leaf)] =
          static_cast<int>(LeafNumber(module.entry()->root()->shape(), alias.output));
    }
    for (size_t i = 0; i < leaves.size(); ++i) {
      const int argument = first + static_cast<int>(i);
      Tied(leaves[i],
           {.argument = argument, .is_kept = given_for_[static_cast<size_t>(argument)] < 0});
    }
  }
}

void PlaceSets::TieResults() {
  int result = 0;
  for (const ValueId value : values_.Of(*values_.module().entry()->root()))
    Tied(value, {.result = result++});
}

bool PlaceSets::Fit(const Tie& a, const Tie& b) const {
  if ((a.argument >= 0 && b.argument >= 0) || (a.result >= 0 && b.result >= 0)) return false;
  const int argument = std::max(a.argument, b.argument), result = std::max(a.result, b.result);
  if (result < 0) return true;
  if (a.is_kept || b.is_kept) return false;
  return argument < 0 || given_for_[static_cast<size_t>(argument)] == result;
}

void PlaceSets::Tied(ValueId value, const Tie& tie) {
  if (!NeedsMemory(values_[value].shape)) return;
  Tie& mine = ties_[static_cast<size_t>(SetOf(value))];
  if (!Fit(mine, tie)) tied_twice_ = {value, MembersOf(value)[0]};
  mine = {std::max(mine.argument, tie.argument), std::max(mine.result, tie.result),
          mine.is_kept || tie.is_kept};
}

// ---- sets ----

void PlaceSets::UniteControlFlow() {
  for (ValueId id = 0; id < values_.count(); ++id) {
    const Value& value = values_[id];
    if (!NeedsMemory(value.shape)) continue;
    for (const ValueId input : value.inputs) {
      const Tie &a = TieOf(id), &b = TieOf(input);
      if (SetOf(id) != SetOf(input) && (!Fit(a, b) || a.is_kept || b.is_kept))
        tied_twice_ = {id, input};
      Unite(id, input);
    }
  }
}

void PlaceSets::Unite(ValueId a, ValueId b) {
  const auto [kept, gone] = sets_.Unite(a, b);
  if (kept == gone) return;
  const auto to = static_cast<size_t>(kept), from = static_cast<size_t>(gone);
  members_[to].insert(members_[to].end(), members_[from].begin(), members_[from].end());
  members_[from].clear();
  const Tie &x = ties_[to], &y = ties_[from];
  ties_[to] = {std::max(x.argument, y.argument), std::max(x.result, y.result),
               x.is_kept || y.is_kept};
}

std::pair<ValueId, ValueId> PlaceSets::Conflict() const {
  if (tied_twice_.first != tied_twice_.second) return tied_twice_;
  for (const std::vector<ValueId>& set : members_) {
    for (size_t i = 0; i < set.size(); ++i) {
      for (size_t j = i + 1; j < set.size(); ++j) {
        if (interference_.Interfere(set[i], set[j])) return {set[i], set[j]};
      }
    }
  }
  return {-1, -1};
}

bool PlaceSets::AreDisjoint(absl::Span<const ValueId> a, absl::Span<const ValueId> b) const {
  for (const ValueId x : a) {
    for (const ValueId y : b) {
      if (interference_.Interfere(x, y)) return false;
    }
  }
  return true;
}

bool PlaceSets::TryUnite(ValueId a, ValueId b) {
  if (SetOf(a) == SetOf(b)) return true;
  const Tie &x = TieOf(a), &y = TieOf(b);
  if (x.is_kept || y.is_kept || !Fit(x, y) || !AreDisjoint(MembersOf(a), MembersOf(b)))
    return false;
  Unite(a, b);
  return true;
}

bool PlaceSets::TryDrop(const Instruction& copy) {
  if (copy.shape() != copy.operand(0)->shape() || !copy.shape().IsArray()) return false;
  const ValueId made = values_.Of(copy)[0];
  const ValueId read = interference_.Resolve(values_.Of(*copy.operand(0))[0]);
  if (made == read) return false;  // it never was a value of its own
  const bool is_within = SetOf(made) == SetOf(read);
  std::vector<ValueId> others(MembersOf(read).begin(), MembersOf(read).end());
  std::erase_if(others, [&](ValueId value) { return value == made || value == read; });
  std::vector<ValueId> with_made;
  if (!is_within) {
    with_made.assign(MembersOf(made).begin(), MembersOf(made).end());
    std::erase(with_made, made);
    const Tie &x = TieOf(read), &y = TieOf(made);
    if (!Fit(x, y) || (x.is_kept && !with_made.empty())) return false;
  }
  interference_.Join(made, read);
  if (!AreDisjoint({&read, 1}, others) || !AreDisjoint({&read, 1}, with_made) ||
      !AreDisjoint(others, with_made)) {
    interference_.Restore(made, read);
    return false;
  }
  Unite(made, read);
  std::erase(members_[static_cast<size_t>(SetOf(read))], made);
  return true;
}

}  // namespace hlo
