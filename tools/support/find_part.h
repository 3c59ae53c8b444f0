// The computation or instruction of a name that a user has written.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

struct ModulePart {
  Computation* computation = nullptr;
  Instruction* instruction = nullptr;  // null: the whole computation
};

// A computation's name goes before an instruction's; `COMPUTATION/INSTRUCTION` is an instruction. A
// name may begin with `%`. An error names the nearest right one.
absl::StatusOr<ModulePart> FindPart(const Module& module, std::string_view name);
// As FindPart, but an instruction's name goes before a computation's, which is an error.
absl::StatusOr<Instruction*> FindInstruction(const Module& module, std::string_view name);

}  // namespace hlo
