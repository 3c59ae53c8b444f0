#include "passes/control_flow/flatten_call_graph.h"

#include "absl/container/flat_hash_map.h"
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

// Where copies go: right before what calls them, as callees are created before callers. All are put
// there at once, for there may be many thousands.
class CopyPlaces {
 public:
  explicit CopyPlaces(Module& module) : module_(module), first_(module.computations().size()) {}

  // The computations that were appended last are called from `caller`.
  void Add(Computation* caller) {
    for (size_t i = first_ + count_; i < module_.computations().size(); ++i, ++count_)
      before_[caller].push_back(module_.computations()[i]);
  }

  void Place() {
    if (count_ == 0) return;
    std::vector<Computation*> order;
    for (size_t i = 0; i < first_; ++i) {
      Computation* const computation = module_.computations()[i];
      if (const auto copies = before_.find(computation); copies != before_.end())
        order.insert(order.end(), copies->second.begin(), copies->second.end());
      order.push_back(computation);
    }
    module_.SetComputationOrder(std::move(order));
  }

 private:
  Module& module_;
  const size_t first_;
  size_t count_ = 0;
  absl::flat_hash_map<Computation*, std::vector<Computation*>> before_;
};

absl::StatusOr<bool> Flatten(const FlattenCallGraphOptions& options, Module& module,
                             PassContext& context, CopyPlaces& places) {
  bool changed = false;
  GrowthLimit growth;
  // Callees first: what a clone calls is a tree already, so a deep clone is one, too, and calls
  // nothing that is copied later.
  for (Computation* computation : context.Computations(module)) {
    const std::vector<CallSite> sites = SortedCallers(*computation);
    if (sites.size() < 2 || (options.skip_calls && CalledByCallsOnly(sites))) continue;
    for (const CallSite& site : SitesForCopies(sites)) {
      if (!context.MayRewrite()) return changed;
      const size_t first_added = module.computations().size();
      Computation* clone = module.CloneComputation(*computation, ".clone", /*deep=*/true);
      places.Add(site.caller->parent());
      for (size_t added = first_added; added < module.computations().size(); ++added)
        RETURN_IF_ERROR(
            growth.Add(module.computations()[added]->instruction_count(), *site.caller));
      context.Passed(*site.caller, "calls a copy of `{}` of its own", computation->name());
      site.caller->SetCall(site.call_index, clone);
      context.Count("cloned computations");
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FlattenCallGraph::Run(Module& module, PassContext& context) {
  CopyPlaces places(module);
  const absl::StatusOr<bool> changed = Flatten(options_, module, context, places);
  places.Place();
  return changed;
}

HLO_DEFINE_PASS(FlattenCallGraph)

}  // namespace hlo
