#include "passes/simplify/sanitize_constant_names.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {

absl::StatusOr<bool> SanitizeConstantNames::Run(Module& module, PassContext& context) {
  absl::flat_hash_set<std::string> taken;
  std::vector<Instruction*> constants;
  for (Computation* computation : context.Computations(module)) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->IsConstant()) {
        constants.push_back(instruction);
      } else {
        taken.insert(std::string(instruction->name()));
      }
    }
  }
  bool changed = false;
  absl::flat_hash_map<std::string, int64_t> next;  // number of the next suffix, by base name
  for (Instruction* constant : constants) {
    std::string base(constant->name());
    absl::c_replace(base, '.', '_');
    absl::c_replace(base, '-', '_');
    std::string name = base;
    while (taken.contains(name)) name = fmt::format("{}_{}", base, ++next[base]);
    if (name == constant->name()) {
      taken.insert(name);
      continue;
    }
    if (!context.MayRewrite()) return changed;
    // The module also remembers names of instructions that are gone; it would add a number of its
    // own.
    module.Rename(constant, name);
    while (constant->name() != name) {
      do {
        name = fmt::format("{}_{}", base, ++next[base]);
      } while (taken.contains(name));
      module.Rename(constant, name);
    }
    taken.insert(name);
    context.Count("renamed");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(SanitizeConstantNames)

}  // namespace hlo
