#include "passes/planned_pass.h"

#include <algorithm>

namespace hlo::internal {

std::vector<std::vector<size_t>> GroupsByDepth(const std::vector<Computation*>& order) {
  // One more than the deepest callee's. Fusion bodies have no entry and call nothing that has.
  absl::flat_hash_map<const Computation*, size_t> depths;
  for (const Computation* computation : order) depths.emplace(computation, 0);
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t depth = depths[order[i]];
    if (depth >= groups.size()) groups.resize(depth + 1);
    groups[depth].push_back(i);
    for (const CallSite& site : order[i]->callers()) {
      const auto caller = depths.find(site.caller->parent());
      if (caller != depths.end()) caller->second = std::max(caller->second, depth + 1);
    }
  }
  return groups;
}

}  // namespace hlo::internal
