#include "passes/simplify/subcomputation_unification.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/compare.h"

namespace hlo {
namespace {

// Fusions and asynchronous operations have a computation each.
bool MustBeUnshared(const Computation& computation) {
  return std::any_of(
      computation.callers().begin(), computation.callers().end(), [](const CallSite& site) {
        return site.caller->IsFusion() || site.caller->opcode() == Opcode::kAsyncStart;
      });
}

bool HoldsElided(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->IsConstant() && instruction->literal().is_elided()) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> SubcomputationUnification::Run(Module& module, PassContext& context) {
  absl::flat_hash_map<const Computation*, uint64_t> hashes;
  for (const auto& [computation, hash] : ContentHashes(module)) hashes[computation] = hash;
  absl::flat_hash_map<uint64_t, std::vector<Computation*>> kept;
  std::vector<std::pair<Computation*, Computation*>> replacements;
  for (Computation* computation : module.computations()) {
    if (MustBeUnshared(*computation) || HoldsElided(*computation)) continue;
    std::vector<Computation*>& bucket = kept[hashes.at(computation)];
    const auto same = std::find_if(bucket.begin(), bucket.end(), [&](const Computation* other) {
      return StructurallyEqual(*other, *computation);
    });
    if (same == bucket.end()) {
      bucket.push_back(computation);
    } else if (context.MayRewrite()) {
      replacements.emplace_back(computation, *same);
      context.Count("unified");
    }
  }
  module.ReplaceComputations(replacements);
  return !replacements.empty();
}

HLO_DEFINE_PASS(SubcomputationUnification)

}  // namespace hlo
