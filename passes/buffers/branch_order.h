// Which copies at the ends of branches stay, although without them no two values of one place
// interfere: those that XLA keeps.
//
//   conditional: t { n = negate(x)  returns n }  f { returns copy(x) }      both results lie in one place
//
// XLA lines the values of a place up in the order in which they are made. What a copy reads, with
// all that lies where that does, would come into the line where the copy is: whatever is before it
// there has to be over when the first of these is made. Here n is not over when x is made, which is
// before the conditional.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/place_sets.h"

namespace hlo {

class BranchOrder {
 public:
  // All must outlive it.
  BranchOrder(const Values& values, const PlaceSets& sets, const Interference& interference);

  // Whether the line of values speaks against it that `copy` goes.
  bool MayDrop(const Instruction& copy) const;
  // Drops it by `drop` and says whether that worked.
  template <class Drop>
  bool TryDrop(const Instruction& copy, const Drop& drop) {
    if (!MayDrop(copy)) return false;
    const ValueId made = sets_.SetOf(MadeBy(copy)), read = sets_.SetOf(ReadBy(copy));
    if (!drop()) return false;
    Join(made, read);
    return true;
  }

 private:
  ValueId MadeBy(const Instruction& copy) const { return values_.Of(copy)[0]; }
  ValueId ReadBy(const Instruction& copy) const {
    return interference_.Resolve(values_.Of(*copy.operand(0))[0]);
  }
  absl::Span<const ValueId> Line(ValueId set) const;
  void Join(ValueId made, ValueId read);

  const Values& values_;
  const PlaceSets& sets_;
  const Interference& interference_;
  absl::flat_hash_set<ValueId> results_;                         // of branches
  absl::flat_hash_map<ValueId, std::vector<ValueId>> by_place_;  // of sets that hold some; by set
};

inline BranchOrder::BranchOrder(const Values& values, const PlaceSets& sets,
                                const Interference& interference)
    : values_(values), sets_(sets), interference_(interference) {
  for (ValueId id = 0; id < values.count(); ++id) {
    const Value& value = values[id];
    if (value.kind == Value::Kind::kBranch)
      results_.insert(value.inputs.begin(), value.inputs.end());
  }
  if (results_.empty()) return;
  for (ValueId id = 0; id < values.count(); ++id) by_place_[sets.SetOf(id)].push_back(id);
}

inline absl::Span<const ValueId> BranchOrder::Line(ValueId set) const {
  const auto at = by_place_.find(set);
  return at == by_place_.end() ? absl::Span<const ValueId>() : absl::MakeConstSpan(at->second);
}

inline bool BranchOrder::MayDrop(const Instruction& copy) const {
  const ValueId made = MadeBy(copy), read = ReadBy(copy);
  if (!results_.contains(made) || sets_.SetOf(made) == sets_.SetOf(read)) return true;
  const absl::Span<const ValueId> sources = Line(sets_.SetOf(read));
  for (const ValueId before : Line(sets_.SetOf(made))) {
    if (before >= made) break;
    if (interference_.Resolve(before) != before) continue;
    const bool is_over = absl::c_all_of(sources, [&](ValueId source) {
      return interference_.Resolve(source) != source || interference_.IsOver(before, source);
    });
    if (!is_over) return false;
  }
  return true;
}

inline void BranchOrder::Join(ValueId made, ValueId read) {
  if (results_.empty() || made == read) return;
  std::vector<ValueId> line;
  const absl::Span<const ValueId> a = Line(made), b = Line(read);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(line));
  by_place_.erase(made);
  by_place_.erase(read);
  by_place_[sets_.SetOf(made)] = std::move(line);
}

}  // namespace hlo
