#include "lib/ir/call_order.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hlo {
namespace {

// Whether every computation stands before all that call it.
bool StandsBeforeCallers(const std::vector<Computation*>& order) {
  // Where each has one caller, which most have, it stands before that.
  const auto is_shared = [](const Computation* computation) {
    const auto callers = computation->callers();
    return std::any_of(callers.begin(), callers.end(), [&callers](const CallSite& site) {
      return site.caller->parent() != callers[0].caller->parent();
    });
  };
  if (std::none_of(order.begin(), order.end(), is_shared)) return true;
  absl::flat_hash_map<const Computation*, size_t> place;
  for (size_t i = 0; i < order.size(); ++i) place.emplace(order[i], i);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const CallSite& site : order[i]->callers()) {
      const auto caller = place.find(site.caller->parent());
      if (caller != place.end() && caller->second < i) return false;
    }
  }
  return true;
}

}  // namespace

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

std::vector<Computation*> CalleesFirst(std::vector<Computation*> given) {
  if (StandsBeforeCallers(given)) return given;
  absl::flat_hash_map<const Computation*, bool> seen;
  std::vector<Computation*> order;
  std::vector<std::pair<Computation*, std::vector<Computation*>>> stack;
  const auto enter = [&](Computation* computation) {
    if (!seen.try_emplace(computation, true).second) return;
    std::vector<Computation*> callees;
    for (const Instruction* instruction : computation->instructions()) {
      for (Computation* callee : instruction->calls()) callees.push_back(callee);
    }
    std::reverse(callees.begin(), callees.end());
    stack.emplace_back(computation, std::move(callees));
  };
  for (Computation* computation : given) {
    enter(computation);
    while (!stack.empty()) {
      std::vector<Computation*>& callees = stack.back().second;
      if (callees.empty()) {
        order.push_back(stack.back().first);
        stack.pop_back();
      } else {
        Computation* callee = callees.back();
        callees.pop_back();
        enter(callee);
      }
    }
  }
  return order;
}

}  // namespace hlo
