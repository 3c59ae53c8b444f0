// Which instructions must stay although nobody reads them: the question of
// Instruction::HasSideEffect, answered for many instructions at the cost of looking at each called
// computation once.
//
// An answer about a computation is kept: do not add effects to computations that have been asked
// about. Removing is safe (answers stay "yes" at worst). Answers survive the removal of
// computations: a module gives a name, and the memory that holds it, to one computation only.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

class SideEffects {
 public:
  static constexpr std::string_view kName = "side-effects";

  bool Of(const Instruction& instruction);
  bool Of(const Computation& computation);

  // Asks about every computation, for who wants all answers to be checked later.
  void AskAll(const Module& module);
  // What it says of `module` that is not so (any more), as text; empty when every answer is right.
  std::string Mistake(const Module& module) const;

 private:
  absl::flat_hash_map<const char*, bool> known_;  // by address of the computation's name
};

}  // namespace hlo
