// Which instructions must stay although nobody reads them: the question of
// Instruction::HasSideEffect, answered for many instructions at the cost of looking at each called
// computation once.
//
// An answer about a computation is kept: do not add effects to computations that have been asked
// about. Removing is safe (answers stay "yes" at worst).
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

class SideEffects {
 public:
  bool Of(const Instruction& instruction);
  bool Of(const Computation& computation);

 private:
  absl::flat_hash_map<const Computation*, bool> known_;
};

}  // namespace hlo
