#include "passes/simplify/computation_deduplicator.h"

#include "passes/util/twin_computations.h"

namespace hlo {
namespace {

constexpr int kMaxInstructions = 128;
constexpr int64_t kMaxConstantBytes = 1024;

bool IsSmallEnough(const Computation& computation) {
  if (computation.instruction_count() > kMaxInstructions) return false;
  int64_t bytes = 0;
  for (const Instruction* instruction : computation.instructions()) {
    if (!instruction->IsConstant()) continue;
    if (instruction->literal().is_elided()) return false;
    bytes += instruction->literal().byte_size();
  }
  return bytes <= kMaxConstantBytes;
}

bool HasCaller(const Computation& computation, bool (*is_such)(const Instruction&)) {
  return absl::c_any_of(computation.callers(),
                        [&](const CallSite& site) { return is_such(*site.caller); });
}

bool IsCollectiveCaller(const Instruction& caller) {
  return HasTrait(caller.opcode(), kCollective);
}
bool IsLoneCaller(const Instruction& caller) {
  return caller.IsFusion() || caller.opcode() == Opcode::kAsyncStart;
}

void MarkFusions(const Computation& computation) {
  for (const CallSite& site : computation.callers()) {
    if (site.caller->IsFusion())
      site.caller->mutable_extras().frontend_attributes.insert_or_assign("has_duplicates", "true");
  }
}

}  // namespace

absl::StatusOr<bool> ComputationDeduplicator::Run(Module& module, PassContext& context) {
  const bool marks = options_.mark_fusion_duplications;
  TwinComputations kept;
  std::vector<std::pair<Computation*, Computation*>> twins;
  for (const auto& [computation, hash] : ContentHashes(module)) {
    if (computation->is_entry() || !IsSmallEnough(*computation) ||
        HasCaller(*computation, IsCollectiveCaller) ||
        (!marks && HasCaller(*computation, IsLoneCaller)))
      continue;
    if (Computation* const twin = kept.Find(computation, hash);
        twin != nullptr && context.MayRewrite()) {
      twins.emplace_back(computation, twin);
      context.Count(marks ? "marked" : "unified");
    }
  }
  if (marks) {
    for (const auto& [computation, twin] : twins) {
      MarkFusions(*computation);
      MarkFusions(*twin);
    }
  } else {
    module.ReplaceComputations(twins);
  }
  return !twins.empty();
}

HLO_DEFINE_PASS(ComputationDeduplicator)

}  // namespace hlo
