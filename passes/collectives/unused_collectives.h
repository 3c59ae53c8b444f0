// Collectives that a pass leaves without readers.
//
// One with a channel counts as a side effect, for its counterparts wait for it: rewriting does not
// remove it, nor does `dce`. A pass that takes its counterparts away as well, all being one
// program, removes it.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"

namespace hlo {

class UnusedCollectives {
 public:
  // Notes those that nobody reads already.
  explicit UnusedCollectives(const Module& module);
  // Removes those that nobody reads any more.
  void RemoveOthers(Module& module) const;

 private:
  absl::flat_hash_set<const Instruction*> noted_;  // looked up only
};

}  // namespace hlo
