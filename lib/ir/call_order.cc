#include "lib/ir/call_order.h"

#include "absl/container/flat_hash_set.h"

namespace hlo {

std::vector<const Computation*> CalleesOf(const Computation& root) {
  struct Walk {
    const Computation* computation;
    std::vector<const Computation*> callees;
    size_t next = 0;
  };
  const auto start = [](const Computation* computation) {
    Walk walk{computation, {}};
    if (!computation->MayCall()) return walk;
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->calls()) walk.callees.push_back(callee);
    }
    return walk;
  };
  std::vector<const Computation*> order;
  absl::flat_hash_set<const Computation*> seen;
  std::vector<Walk> walks = {start(&root)};
  while (!walks.empty()) {
    Walk& top = walks.back();
    if (top.next == top.callees.size()) {
      order.push_back(top.computation);
      walks.pop_back();
      continue;
    }
    const Computation* callee = top.callees[top.next++];
    if (seen.insert(callee).second) walks.push_back(start(callee));
  }
  order.pop_back();  // `root`
  return order;
}

}  // namespace hlo
