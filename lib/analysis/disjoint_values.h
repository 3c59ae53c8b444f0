// Sets of values that only grow together (union-find). The representative of a set is its smallest
// value, the one made first. Nearly O(1) each.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "lib/analysis/values.h"

namespace hlo {

class DisjointValues {
 public:
  // Values 0 to count - 1, each alone.
  explicit DisjointValues(ValueId count) : parents_(static_cast<size_t>(count)) {
    std::iota(parents_.begin(), parents_.end(), ValueId{0});
  }

  int count() const { return static_cast<int>(parents_.size()); }
  // The representative of its set.
  ValueId SetOf(ValueId value) const {
    auto at = static_cast<size_t>(value);
    while (parents_[at] != static_cast<ValueId>(at)) {
      parents_[at] = parents_[static_cast<size_t>(parents_[at])];
      at = static_cast<size_t>(parents_[at]);
    }
    return static_cast<ValueId>(at);
  }

  // The representatives that the two had: the one of both from now on, and the other; equal where
  // they were of one set.
  std::pair<ValueId, ValueId> Unite(ValueId a, ValueId b) {
    a = SetOf(a);
    b = SetOf(b);
    if (b < a) std::swap(a, b);
    parents_[static_cast<size_t>(b)] = a;
    return {a, b};
  }

 private:
  mutable std::vector<ValueId> parents_;  // shortened by looks
};

}  // namespace hlo
