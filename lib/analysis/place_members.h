// The values that lie in one place, so arranged that most questions look at few of them.
//
// Values that are local to a computation (interference.h) stand in the order in which they are
// made, each over before the next is made: a chain. What does not interfere with its neighbours
// there interferes with none. The others, and all where some interfere, are asked one by one.
#pragma once

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/analysis/interference.h"

namespace hlo {

class PlaceMembers {
 public:
  PlaceMembers() = default;
  explicit PlaceMembers(ValueId value) : values_{value} {}

  absl::Span<const ValueId> values() const { return values_; }

  // Finds out whether there is a chain; questions do it by themselves.
  void Arrange(const Interference& interference);
  // None of these interferes with one of `other`. O(n log m) for n local values and m.
  bool AreDisjoint(PlaceMembers& other, const Interference& interference);
  // Two that interfere; equal: none.
  std::pair<ValueId, ValueId> Conflict(const Interference& interference);

  // Takes those of `other` in; `are_disjoint`: AreDisjoint said so.
  void Add(PlaceMembers other, const Interference& interference, bool are_disjoint);
  // Before anything changes that concerns `value`.
  void Erase(ValueId value, const Interference& interference);

 private:
  enum class State : uint8_t { kUnknown, kChain, kTangle };  // kTangle: there is no chain

  // Where in the chain `value` stands, or would.
  size_t PlaceInChain(ValueId value, const Interference& interference) const;
  bool FitsChain(ValueId value, const Interference& interference) const;
  bool FitsOthers(ValueId value, size_t from, const Interference& interference) const;

  std::vector<ValueId> values_;
  size_t chain_ = 0;  // how many of them, the first ones, are the chain
  State state_ = State::kUnknown;
};

}  // namespace hlo
