#include "passes/util/discard.h"

#include "lib/ir/module.h"

namespace hlo {

void Discard(Instruction* replacement, uint32_t first_new, uint32_t first_region) {
  Module& module = replacement->module();
  if (replacement->id() >= first_new && !replacement->has_uses())
    replacement->parent()->RemoveUnused(replacement);
  if (module.serial_limit() == first_region) return;
  const std::vector<Computation*> computations = module.computations();
  for (Computation* region : computations) {
    if (region->serial() >= first_region && region->callers().empty())
      module.RemoveComputation(region);
  }
}

}  // namespace hlo
