#include "passes/collectives/collective_select_folder.h"

#include "lib/analysis/device_groups.h"
#include "lib/analysis/device_values.h"

namespace hlo {
namespace {

std::optional<bool> Compared(ComparisonDirection direction, int64_t a, int64_t b) {
  switch (direction) {
    case ComparisonDirection::kEq: return a == b;
    case ComparisonDirection::kNe: return a != b;
    case ComparisonDirection::kLt: return a < b;
    case ComparisonDirection::kLe: return a <= b;
    case ComparisonDirection::kGt: return a > b;
    case ComparisonDirection::kGe: return a >= b;
  }
  return std::nullopt;
}

// What the one element of `predicate` is on `device`.
std::optional<bool> PredicateOn(const Instruction* predicate, DeviceId device) {
  while (predicate->opcode() == Opcode::kBroadcast || predicate->opcode() == Opcode::kReshape)
    predicate = predicate->operand(0);
  if (predicate->opcode() != Opcode::kCompare || !predicate->shape().IsEffectiveScalar())
    return std::nullopt;
  const std::optional<int64_t> a = DeviceValue(*predicate->operand(0), device);
  const std::optional<int64_t> b = a ? DeviceValue(*predicate->operand(1), device) : a;
  if (!b) return std::nullopt;
  return Compared(predicate->attrs<CompareAttrs>().direction, *a, *b);
}

// The devices that send: those of all partitions of a replica, or of all replicas of a partition.
std::vector<DeviceId> Senders(const Instruction& permute) {
  const ModuleConfig& config = permute.module().config();
  const auto& attrs = permute.attrs<CollectivePermuteAttrs>();
  const bool of_partitions = attrs.channel_id.has_value();
  std::vector<DeviceId> senders;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    const int64_t others = of_partitions ? config.replica_count : config.num_partitions;
    for (int64_t k = 0; k < others; ++k)
      senders.push_back(of_partitions ? DeviceId{k, source} : DeviceId{source, k});
  }
  return senders;
}

// collective-permute(select(p, x, y))  =>  collective-permute(x), if p holds on all that send
Instruction* FoldSelect(Instruction* permute, Rewriter& rewriter) {
  if (permute->operand_count() != 1 || permute->operand(0)->opcode() != Opcode::kSelect ||
      HasManyDevices(rewriter.module().config()))
    return nullptr;
  const Instruction& select = *permute->operand(0);
  std::optional<bool> all;
  for (const DeviceId device : Senders(*permute)) {
    const std::optional<bool> here = PredicateOn(select.operand(0), device);
    if (!here || (all && *all != *here)) return nullptr;
    all = here;
  }
  if (!all) return nullptr;
  Instruction* sent = select.operand(*all ? 1 : 2);
  if (sent->shape() != permute->operand(0)->shape()) return nullptr;
  return rewriter.OpWithShape(Opcode::kCollectivePermute, permute->shape(), {sent},
                              permute->attrs_ptr());
}

constexpr Rule kSelectRules[] = {
    {"permute-of-select", Opcode::kCollectivePermute, kExact, FoldSelect},
};

}  // namespace

CollectiveSelectFolder::CollectiveSelectFolder() : RewritePass(this, kSelectRules) {}

HLO_DEFINE_PASS(CollectiveSelectFolder)

}  // namespace hlo
