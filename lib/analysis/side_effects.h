// Which instructions must stay although nobody reads them: the question of
// Instruction::HasSideEffect, answered for many instructions at the cost of looking at each called
// computation once.
//
// An answer about a computation is kept: do not add effects to computations that have been asked
// about. Removing is safe (answers stay "yes" at worst). Answers survive the removal of
// computations and sweeps: they are kept by Computation::serial. One object, one module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  // The computations and instructions with effects of their own or by what they call.
  static std::string ToString(const Module& module);

 private:
  enum class Answer : uint8_t { kUnknown, kNo, kYes };
  Answer Known(const Computation& computation) const {
    return computation.serial() < known_.size() ? known_[computation.serial()] : Answer::kUnknown;
  }

  std::vector<Answer> known_;  // by serial
};

}  // namespace hlo
