#include "lib/analysis/side_effects.h"

namespace hlo {

bool SideEffects::Of(const Instruction& instruction) {
  if (instruction.HasOwnSideEffect()) return true;
  for (int i = 0; i < instruction.call_count(); ++i) {
    if (Of(*instruction.call(i))) return true;
  }
  return false;
}

bool SideEffects::Of(const Computation& computation) {
  if (const auto it = known_.find(&computation); it != known_.end()) return it->second;
  bool effect = false;
  for (const Instruction* instruction : computation.instructions()) {
    if (Of(*instruction)) {
      effect = true;
      break;
    }
  }
  known_[&computation] = effect;
  return effect;
}

}  // namespace hlo
