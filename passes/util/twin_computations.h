// Equal computations, met one after the other.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/compare.h"

namespace hlo {

// Whether a constant of `computation` is not known: such computations look equal and need not be.
inline bool HoldsElided(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->IsConstant() && instruction->literal().is_elided()) return true;
  }
  return false;
}

class TwinComputations {
 public:
  // `options` of what counts as equal: no less than ContentHash does.
  explicit TwinComputations(const CompareOptions& options = {}) : options_(options) {}

  // A computation that was asked about before and equals `computation`, whose ContentHash is
  // `hash`, on the same thread; null: there is none, and it is remembered.
  Computation* Find(Computation* computation, uint64_t hash) {
    std::vector<Computation*>& known = by_hash_[hash];
    const auto same = absl::c_find_if(known, [&](const Computation* other) {
      return StructurallyEqual(*other, *computation, options_) &&
             other->execution_thread() == computation->execution_thread();
    });
    if (same != known.end()) return *same;
    known.push_back(computation);
    return nullptr;
  }

 private:
  CompareOptions options_;
  absl::flat_hash_map<uint64_t, std::vector<Computation*>> by_hash_;  // looked up only
};

}  // namespace hlo
