#include "lib/analysis/side_effects.h"

#include <fmt/core.h>

namespace hlo {

bool SideEffects::Of(const Instruction& instruction) {
  if (instruction.HasOwnSideEffect()) return true;
  for (int i = 0; i < instruction.call_count(); ++i) {
    if (Of(*instruction.call(i))) return true;
  }
  return false;
}

bool SideEffects::Of(const Computation& computation) {
  if (const Answer known = Known(computation); known != Answer::kUnknown)
    return known == Answer::kYes;
  known_.resize(computation.module().serial_limit(), Answer::kUnknown);
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
        const Answer known = Known(*callee);
        if (known == Answer::kUnknown) {
          open.push_back(callee);
        } else {
          effect = known == Answer::kYes;
        }
      }
      if (effect) break;
    }
    if (effect) open.resize(depth);  // whatever the callees are
    if (open.size() > depth) continue;
    known_[top->serial()] = effect ? Answer::kYes : Answer::kNo;
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
    const Answer known = Known(*computation);
    if (known == Answer::kUnknown || (known == Answer::kYes) == fresh.Of(*computation)) continue;
    return fmt::format("computation `{}` has {} side effect{}", computation->name(),
                       known == Answer::kYes ? "no" : "a",
                       known == Answer::kYes ? " any more" : " now");
  }
  return "";
}

std::string SideEffects::ToString(const Module& module) {
  SideEffects effects;
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    text += fmt::format("{}: {}\n", computation->name(), effects.Of(*computation) ? "yes" : "no");
    for (const Instruction* instruction : computation->PostOrder()) {
      if (effects.Of(*instruction)) text += fmt::format("  {}\n", instruction->name());
    }
  }
  return text;
}

}  // namespace hlo
