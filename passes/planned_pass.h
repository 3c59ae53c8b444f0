// A pass that finds out for each computation by itself what is best, and then does it.
//
//   struct Schedule { std::vector<Instruction*> sequence; int64_t peak; };
//   class MemoryScheduler final : public PlannedPass<Schedule> {
//     absl::StatusOr<Schedule> Plan(const Computation& computation, const Plans& callees) const override;
//     absl::StatusOr<bool> Apply(Computation& computation, Schedule schedule, PassContext& context) override;
//   };
//
// Plans are made on the threads of the context (hlo-opt --threads), at the same time for
// computations that do not call each other; the module does not change meanwhile. Then they are
// carried out one by one, callees first. So the result does not depend on the number of threads.
// Fusion bodies are left out.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/pass.h"

namespace hlo {

namespace internal {
// Cuts `order` (callees first) into groups of indices; what a computation calls stands in
// an earlier group.
std::vector<std::vector<size_t>> GroupsByDepth(const std::vector<Computation*>& order);
}  // namespace internal

template <class PlanType>
class PlannedPass : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override {
    const std::vector<Computation*> order = context.NonFusionComputations(module);
    Plans plans;
    plans.made_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) plans.index_.emplace(order[i], i);
    for (const std::vector<size_t>& group : internal::GroupsByDepth(order)) {
      context.ParallelFor(static_cast<int64_t>(group.size()), [&](int64_t k) {
        const size_t i = group[static_cast<size_t>(k)];
        plans.made_[i].emplace(Plan(*order[i], plans));
      });
      for (const size_t i : group) RETURN_IF_ERROR(plans.made_[i]->status());
    }
    bool changed = false;
    for (size_t i = 0; i < order.size(); ++i) {
      ASSIGN_OR_RETURN(const bool applied, Apply(*order[i], **std::move(plans.made_[i]), context));
      changed |= applied;
    }
    return changed;
  }

 protected:
  // The plans of computations that stand lower in the call graph.
  class Plans {
   public:
    // Null for a fusion body.
    const PlanType* Of(const Computation& callee) const {
      const auto at = index_.find(&callee);
      return at == index_.end() ? nullptr : &**made_[at->second];
    }

   private:
    friend PlannedPass;
    absl::flat_hash_map<const Computation*, size_t> index_;
    std::vector<std::optional<absl::StatusOr<PlanType>>> made_;
  };

  // Changes nothing; runs on several threads at once.
  virtual absl::StatusOr<PlanType> Plan(const Computation& computation,
                                        const Plans& callees) const = 0;
  // Returns whether something changed.
  virtual absl::StatusOr<bool> Apply(Computation& computation, PlanType plan,
                                     PassContext& context) = 0;
};

}  // namespace hlo
