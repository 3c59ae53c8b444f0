#include "lib/analysis/place_sets.h"

#include <algorithm>
#include <utility>

#include "lib/analysis/entry_aliases.h"
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
    members_.emplace_back(value);
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
  const std::vector<EntryAlias> aliases = EntryAliases(module);
  for (const Instruction* parameter : module.entry()->parameters()) {
    const int first = static_cast<int>(given_for_.size());
    const absl::Span<const ValueId> leaves = values_.Of(*parameter);
    given_for_.resize(given_for_.size() + leaves.size(), -1);
    for (const EntryAlias& alias : aliases) {
      if (alias.parameter == parameter)
        given_for_[static_cast<size_t>(first) + alias.from] = static_cast<int>(alias.to);
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
  if (!Fit(mine, tie)) tied_twice_ = {value, MembersOf(value).values()[0]};
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

void PlaceSets::Unite(ValueId a, ValueId b, bool are_disjoint) {
  const auto [kept, gone] = sets_.Unite(a, b);
  if (kept == gone) return;
  const auto to = static_cast<size_t>(kept), from = static_cast<size_t>(gone);
  members_[to].Add(std::exchange(members_[from], {}), interference_, are_disjoint);
  const Tie &x = ties_[to], &y = ties_[from];
  ties_[to] = {std::max(x.argument, y.argument), std::max(x.result, y.result),
               x.is_kept || y.is_kept};
}

std::pair<ValueId, ValueId> PlaceSets::Conflict() {
  if (tied_twice_.first != tied_twice_.second) return tied_twice_;
  for (PlaceMembers& set : members_) {
    const auto conflict = set.Conflict(interference_);
    if (conflict.first != conflict.second) return conflict;
  }
  return {-1, -1};
}

bool PlaceSets::TryUnite(ValueId a, ValueId b) {
  if (SetOf(a) == SetOf(b)) return true;
  const Tie &x = TieOf(a), &y = TieOf(b);
  if (x.is_kept || y.is_kept || !Fit(x, y) ||
      !MembersOf(a).AreDisjoint(MembersOf(b), interference_))
    return false;
  Unite(a, b, /*are_disjoint=*/true);
  return true;
}

// Whether the copy and the memory that its two values are tied to allow it.
std::optional<PlaceSets::Copied> PlaceSets::MayDrop(const Instruction& copy) const {
  if (copy.shape() != copy.operand(0)->shape() || !copy.shape().IsArray()) return std::nullopt;
  const ValueId made = values_.Of(copy)[0];
  const ValueId read = interference_.Resolve(values_.Of(*copy.operand(0))[0]);
  if (made == read) return std::nullopt;  // it never was a value of its own
  if (SetOf(made) != SetOf(read)) {
    const Tie &x = TieOf(read), &y = TieOf(made);
    if (!Fit(x, y) || (x.is_kept && IsShared(made))) return std::nullopt;
  }
  return Copied{made, read};
}

bool PlaceSets::TryJoin(const Copied& copied) {
  const auto [made, read] = copied;
  PlaceMembers &of_made = MembersOf(made), &of_read = MembersOf(read);
  of_made.Erase(made, interference_);
  of_read.Erase(read, interference_);
  interference_.Join(made, read);
  PlaceMembers joined(read);
  const bool are_one = joined.AreDisjoint(of_read, interference_) &&
                       (&of_made == &of_read || (joined.AreDisjoint(of_made, interference_) &&
                                                 of_read.AreDisjoint(of_made, interference_)));
  if (!are_one) interference_.Restore(made, read);
  of_read.Add(PlaceMembers(read), interference_, /*are_disjoint=*/true);
  if (are_one) {
    Unite(made, read, /*are_disjoint=*/true);
  } else {
    of_made.Add(PlaceMembers(made), interference_, /*are_disjoint=*/true);
  }
  return are_one;
}

bool PlaceSets::TryDrop(const Instruction& copy) {
  const std::optional<Copied> copied = MayDrop(copy);
  return copied && TryJoin(*copied);
}

bool PlaceSets::TryDropByEdges(const Instruction& copy, int64_t limit,
                               std::vector<Interference::Edge>& edges) {
  const std::optional<Copied> copied = MayDrop(copy);
  if (!copied) return false;
  PlaceMembers &of_made = MembersOf(copied->made), &of_read = MembersOf(copied->read);
  if (std::ssize(of_made.values()) > limit / std::ssize(of_read.values())) return false;
  // What they are without edges is to stay.
  of_made.Arrange(interference_);
  of_read.Arrange(interference_);
  interference_.Assume(true);
  const bool are_one = TryJoin(*copied);
  interference_.Assume(false);
  const std::vector<Interference::Edge> assumed = interference_.TakeAssumed();
  if (are_one) edges.insert(edges.end(), assumed.begin(), assumed.end());
  return are_one;
}

}  // namespace hlo
