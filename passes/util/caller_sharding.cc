#include "passes/util/caller_sharding.h"

#include "absl/algorithm/container.h"
#include "lib/ir/one_sharding.h"

namespace hlo {

void DropShardingThatCallersContradict(Computation& computation) {
  Instruction& root = *computation.root();
  if (root.sharding() == nullptr) return;
  const auto contradicts = [&root](const Instruction& other) {
    return other.sharding() != nullptr && !(*other.sharding() == *root.sharding());
  };
  const bool is_contradicted = absl::c_any_of(computation.callers(), [&](const CallSite& site) {
    const std::vector<Instruction*> others = DividedLike(*site.caller);
    return absl::c_linear_search(others, &root) &&
           (contradicts(*site.caller) ||
            absl::c_any_of(others, [&](const Instruction* other) { return contradicts(*other); }));
  });
  if (is_contradicted) root.clear_sharding();
}

void SetRoot(Instruction& root) {
  root.parent()->set_root(&root);
  DropShardingThatCallersContradict(*root.parent());
}

}  // namespace hlo
