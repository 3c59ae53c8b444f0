#include "passes/control_flow/flatten_call_graph.h"

#include "passes/util/growth_limit.h"

namespace hlo {
namespace {

// Call sites in an order that does not depend on the history of the caller list.
std::vector<CallSite> SortedCallers(const Computation& computation) {
  std::vector<CallSite> sites(computation.callers().begin(), computation.callers().end());
  absl::c_sort(sites, [](const CallSite& a, const CallSite& b) {
    return std::pair(a.caller->id(), a.call_index) < std::pair(b.caller->id(), b.call_index);
  });
  return sites;
}

bool CalledByCallsOnly(const std::vector<CallSite>& sites) {
  return absl::c_all_of(
      sites, [](const CallSite& site) { return site.caller->opcode() == Opcode::kCall; });
}

// The sites that get a copy each: all but the first; of a caller that names the computation several
// times all, the last first, as XLA does it.
std::vector<CallSite> SitesForCopies(const std::vector<CallSite>& sites) {
  std::vector<CallSite> copies;
  for (size_t first = 0; first < sites.size();) {
    size_t end = first + 1;
    while (end < sites.size() && sites[end].caller == sites[first].caller) ++end;
    for (size_t i = end; i-- > first;) {
      if (i > 0 || end > 1) copies.push_back(sites[i]);
    }
    first = end;
  }
  return copies;
}

// Puts the computations that were appended from position `first` on right before `caller`: callees
// are created before callers.
void MoveBefore(Module& module, size_t first, Computation* caller) {
  const std::vector<Computation*> added(module.computations().begin() + static_cast<int64_t>(first),
                                        module.computations().end());
  for (Computation* computation : added) module.MoveToFront(computation, caller);
}

}  // namespace

absl::StatusOr<bool> FlattenCallGraph::Run(Module& module, PassContext& context) {
  bool changed = false;
  GrowthLimit growth;
  // Callees first: what a clone calls is a tree already, so a deep clone is one, too.
  for (Computation* computation : context.Computations(module)) {
    const std::vector<CallSite> sites = SortedCallers(*computation);
    if (sites.size() < 2 || (options_.skip_calls && CalledByCallsOnly(sites))) continue;
    for (const CallSite& site : SitesForCopies(sites)) {
      if (!context.MayRewrite()) return changed;
      const size_t first_added = module.computations().size();
      Computation* clone = module.CloneComputation(*computation, ".clone", /*deep=*/true);
      for (size_t added = first_added; added < module.computations().size(); ++added)
        RETURN_IF_ERROR(
            growth.Add(module.computations()[added]->instruction_count(), *site.caller));
      MoveBefore(module, first_added, site.caller->parent());
      context.Passed(*site.caller, "calls a copy of `{}` of its own", computation->name());
      site.caller->SetCall(site.call_index, clone);
      context.Count("cloned computations");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(FlattenCallGraph)

}  // namespace hlo
