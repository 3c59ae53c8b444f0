#include "passes/collectives/collective_select_folder.h"

#include <optional>

#include "lib/ir/builder.h"

namespace hlo {
namespace {

// What tells devices apart in the condition of a selection: `id` == `number`, or not.
struct DeviceCondition {
  bool is_equal = true;
  bool of_partitions = false;
  int64_t number = 0;

  bool HoldsOn(int64_t device) const { return (device == number) == is_equal; }
};

const Instruction* BeforeWidening(const Instruction* value) {
  while (value->opcode() == Opcode::kConvert || value->opcode() == Opcode::kBroadcast)
    value = value->operand(0);
  return value;
}

// Whether conversions on the way to `id` keep all numbers of devices.
bool KeepsNumbers(const Instruction* value, const Instruction* id) {
  for (; value != id; value = value->operand(0)) {
    const ElementType type = value->shape().element_type();
    if (!IsInteger(type) || BitWidth(type) < 32) return false;
  }
  return true;
}

std::optional<DeviceCondition> ConditionOf(const Instruction& select) {
  const Instruction* const compare = BeforeWidening(select.operand(0));
  if (compare->opcode() != Opcode::kCompare) return std::nullopt;
  const ComparisonDirection direction = compare->attrs<CompareAttrs>().direction;
  if (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe)
    return std::nullopt;
  const Instruction* id = BeforeWidening(compare->operand(0));
  const Instruction* number = BeforeWidening(compare->operand(1));
  if (!KeepsNumbers(compare->operand(0), id) || !KeepsNumbers(compare->operand(1), number))
    return std::nullopt;
  if (!number->IsConstant()) std::swap(id, number);
  const bool of_partitions = id->opcode() == Opcode::kPartitionId;
  if ((!of_partitions && id->opcode() != Opcode::kReplicaId) || !number->IsConstant() ||
      number->shape().rank() != 0 || !IsInteger(number->shape().element_type()) ||
      number->literal().is_elided())
    return std::nullopt;
  return DeviceCondition{direction == ComparisonDirection::kEq, of_partitions,
                         number->literal().GetInt(0)};
}

// What the condition of `select` is on all devices that `permute` sends from.
std::optional<bool> ConditionOnSenders(const Instruction& select, const Instruction& permute) {
  const std::optional<DeviceCondition> condition = ConditionOf(select);
  const auto& attrs = permute.attrs<CollectivePermuteAttrs>();
  if (!condition || condition->of_partitions != attrs.channel_id.has_value()) return std::nullopt;
  std::optional<bool> all;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    const bool here = condition->HoldsOn(source);
    if (all && *all != here) return std::nullopt;
    all = here;
  }
  return all;
}

}  // namespace

absl::StatusOr<bool> CollectiveSelectFolder::RunOnComputation(Computation& computation,
                                                              PassContext& context) {
  if (!computation.MayHold(Opcode::kCollectivePermute)) return false;
  bool changed = false;
  for (Instruction* permute : computation.instruction_vector()) {
    if (permute->is_dead() || permute->opcode() != Opcode::kCollectivePermute ||
        permute->operand(0)->opcode() != Opcode::kSelect)
      continue;
    Instruction* const select = permute->operand(0);
    const std::optional<bool> all = ConditionOnSenders(*select, *permute);
    if (!all) continue;
    Instruction* const sent = select->operand(*all ? 1 : 2);
    if (sent->shape() != select->shape()) continue;
    if (!context.MayRewrite()) return changed;
    context.Passed(*permute, "sends `{}`", sent->name());
    permute->ReplaceOperand(0, sent);
    if (!select->is_used() && !select->has_control_edges()) computation.RemoveUnused(select);
    context.Count("folded");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(CollectiveSelectFolder)

}  // namespace hlo
