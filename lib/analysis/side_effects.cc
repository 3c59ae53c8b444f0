#include "lib/analysis/side_effects.h"

#include <fmt/core.h>

#include <vector>

namespace hlo {

bool SideEffects::Of(const Instruction& instruction) {
  if (instruction.HasOwnSideEffect()) return true;
  for (int i = 0; i < instruction.call_count(); ++i) {
    if (Of(*instruction.call(i))) return true;
  }
  return false;
}

bool SideEffects::Of(const Computation& computation) {
  if (const auto it = known_.find(computation.name().data()); it != known_.end()) return it->second;
  // Not by recursion: calls may be nested as deep as a text likes.
  std::vector<const Computation*> open = {&computation};
  bool effect = false;
  while (!open.empty()) {
    const Computation* top = open.back();
    const size_t depth = open.size();
    effect = false;
    for (const Instruction* instruction : top->instructions()) {
      effect = effect || instruction->HasOwnSideEffect();
      for (int i = 0; i < instruction->call_count() && !effect; ++i) {
        const Computation* callee = instruction->call(i);
        const auto it = known_.find(callee->name().data());
        if (it == known_.end()) {
          open.push_back(callee);
        } else {
          effect = it->second;
        }
      }
      if (effect) break;
    }
    if (effect) open.resize(depth);  // whatever the callees are
    if (open.size() > depth) continue;
    known_[top->name().data()] = effect;
    open.pop_back();
  }
  return effect;
}

void SideEffects::AskAll(const Module& module) {
  for (const Computation* computation : module.computations()) Of(*computation);
}

std::string SideEffects::Mistake(const Module& module) const {
  SideEffects fresh;
  for (const Computation* computation : module.computations()) {
    const auto it = known_.find(computation->name().data());
    if (it == known_.end() || it->second == fresh.Of(*computation)) continue;
    return fmt::format("computation `{}` has {} side effect{}", computation->name(),
                       it->second ? "no" : "a", it->second ? " any more" : " now");
  }
  return "";
}

}  // namespace hlo
