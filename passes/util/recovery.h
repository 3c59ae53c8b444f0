// How values of the source program that are gone are computed from what is left
// (`origin_recovery_table`).
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "lib/ir/instruction.h"

namespace hlo {

// The text of a module that makes of an array of shape `from` what `build` builds of its parameter.
std::string RecoveryModule(Shape from, absl::FunctionRef<Instruction*(Instruction* array)> build);

// `now` stays where `old` goes, with the same structure. For each array of the source program that
// `old` stands for and that no entry has yet, an entry says how it is had from `now`, whose array
// gets a name (x__ovp0) where it stands for none. `recover(i)` gives the text for leaf i: "": it is
// that leaf; nothing: it cannot be had.
void NoteRecovery(const Instruction& old, Instruction* now,
                  absl::FunctionRef<std::optional<std::string>(size_t leaf)> recover);

}  // namespace hlo
