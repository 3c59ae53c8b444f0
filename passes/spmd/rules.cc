#include "passes/spmd/rules.h"

#include <array>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/leaves.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

using RuleTable = std::array<SpmdRule, kOpcodeCount>;

const RuleTable& Rules() {
  static const RuleTable table = [] {
    RuleTable rules = {};
    for (int i = 0; i < kOpcodeCount; ++i)
      rules[static_cast<size_t>(i)] =
          IsElementwise(static_cast<Opcode>(i)) ? DivideElementwise : RunWhole;
    rules[static_cast<size_t>(Opcode::kMap)] = DivideElementwise;
    for (const auto rows : {SpmdControlRows(), SpmdMovementRows(), SpmdIndexedRows(),
                            SpmdProductRows(), SpmdReductionRows(), SpmdDeviceRows()}) {
      for (const SpmdRow& row : rows) rules[static_cast<size_t>(row.opcode)] = row.rule;
    }
    return rules;
  }();
  return table;
}

}  // namespace

SpmdRule RuleOf(const Instruction& old) { return Rules()[static_cast<size_t>(old.opcode())]; }

bool SeesPartitions(const Instruction& old) {
  if (old.opcode() == Opcode::kPartitionId) return true;
  if (kSendRecvOps.Has(old.opcode())) return !old.attrs<ChannelAttrs>().is_host_transfer;
  if (kPermutes.Has(old.opcode()))
    return old.attrs<CollectivePermuteAttrs>().channel_id.has_value();
  if (const std::optional<GroupMode> mode = GroupModeOf(old))
    return *mode != GroupMode::kCrossReplica;
  if (kProgramCallers.Has(old.opcode())) return false;
  for (const Computation* callee : old.calls()) {
    for (const Instruction* instruction : callee->instructions()) {
      if (SeesPartitions(*instruction)) return true;
    }
  }
  return false;
}

absl::StatusOr<Parts> DivideElementwise(Partitioner& partitioner, const Instruction& old) {
  const Placement* placement = partitioner.wanted(0);
  std::vector<Instruction*> operands;
  for (int i = 0; i < old.operand_count(); ++i) {
    // A scalar may stand for an array of one value: of select, clamp.
    const bool is_scalar = old.operand(i)->shape().rank() == 0;
    operands.push_back(partitioner.OperandAs(
        old, i, is_scalar ? partitioner.Keep(placement->AllWhole(0)) : placement));
  }
  return partitioner.Made(
      partitioner.Clone(old, placement->TileShape(old.shape()), std::move(operands)), placement);
}

absl::StatusOr<Parts> RunWhole(Partitioner& partitioner, const Instruction& old) {
  ModulePartitioner& module = partitioner.module();
  const Placement* regions = partitioner.regions();
  std::vector<Instruction*> operands;
  for (int i = 0; i < old.operand_count(); ++i) {
    operands.push_back(
        partitioner.OperandAs(old, i, module.WholeLike(old.operand(i)->shape(), regions)));
  }
  return Parts{partitioner.Clone(old, old.shape(), std::move(operands)),
               module.WholeLike(old.shape(), regions)};
}

}  // namespace hlo
