#include "passes/simplify/subcomputation_unification.h"

#include "absl/container/flat_hash_map.h"
#include "lib/ir/compare.h"
#include "passes/util/twin_computations.h"

namespace hlo {
namespace {

// Fusions and asynchronous operations have a computation each.
bool MustBeUnshared(const Computation& computation) {
  return absl::c_any_of(computation.callers(), [](const CallSite& site) {
    return site.caller->IsFusion() || site.caller->opcode() == Opcode::kAsyncStart;
  });
}

}  // namespace

absl::StatusOr<bool> SubcomputationUnification::Run(Module& module, PassContext& context) {
  absl::flat_hash_map<const Computation*, uint64_t> hashes;
  for (const auto& [computation, hash] : ContentHashes(module)) hashes[computation] = hash;
  TwinComputations kept;
  std::vector<std::pair<Computation*, Computation*>> replacements;
  for (Computation* computation : module.computations()) {
    if (MustBeUnshared(*computation) || HoldsElided(*computation)) continue;
    if (Computation* const twin = kept.Find(computation, hashes.at(computation));
        twin != nullptr && context.MayRewrite()) {
      replacements.emplace_back(computation, twin);
      context.Count("unified");
    }
  }
  module.ReplaceComputations(replacements);
  return !replacements.empty();
}

HLO_DEFINE_PASS(SubcomputationUnification)

}  // namespace hlo
