#include "tools/support/find_part.h"

#include <vector>

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

absl::Status NotFound(const Module& module, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Computation* computation : module.computations()) {
    names.push_back(computation->name());
    for (const Instruction* instruction : computation->instructions())
      names.push_back(instruction->name());
  }
  return Error("no computation and no instruction is called `{}`{}", name, DidYouMean(name, names));
}

// `name` as texts write it, with `%` or without.
std::string_view Plain(std::string_view name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

}  // namespace

absl::StatusOr<ModulePart> FindPart(const Module& module, std::string_view name) {
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) {
    Computation* const computation = module.FindComputation(Plain(name.substr(0, slash)));
    if (computation == nullptr) return NotFound(module, Plain(name.substr(0, slash)));
    const std::string_view inside = Plain(name.substr(slash + 1));
    Instruction* const instruction = computation->Find(inside);
    if (instruction == nullptr)
      return Error("`{}` has no instruction `{}`", computation->name(), inside);
    return ModulePart{computation, instruction};
  }
  if (Computation* computation = module.FindComputation(Plain(name)); computation != nullptr)
    return ModulePart{computation, nullptr};
  Instruction* const instruction = module.FindInstruction(Plain(name));
  if (instruction == nullptr) return NotFound(module, Plain(name));
  return ModulePart{instruction->parent(), instruction};
}

absl::StatusOr<Instruction*> FindInstruction(const Module& module, std::string_view name) {
  if (Instruction* const instruction = module.FindInstruction(Plain(name)); instruction != nullptr)
    return instruction;
  ASSIGN_OR_RETURN(const ModulePart part, FindPart(module, name));
  if (part.instruction == nullptr)
    return Error("`{}` is a computation, but an instruction is wanted", Plain(name));
  return part.instruction;
}

}  // namespace hlo
