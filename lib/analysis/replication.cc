#include "lib/analysis/replication.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/device_groups.h"

namespace hlo {
namespace {

// What gives another result each time, or one from outside.
constexpr OpcodeSet kUnpredictable = {Opcode::kInfeed,
                                      Opcode::kRecv,
                                      Opcode::kRecvDone,
                                      Opcode::kRng,
                                      Opcode::kCustomCall,
                                      Opcode::kRngGetAndUpdateState,
                                      Opcode::kAsyncStart,
                                      Opcode::kCollectivePermute,
                                      Opcode::kCollectivePermuteStart};

}  // namespace

Replication::Replication(const Values& values, Across across)
    : values_(values), across_(across), same_(static_cast<size_t>(values.count()), true) {
  // All are taken to be the same until something speaks against it: so loops settle.
  for (bool changed = true; changed;) {
    changed = false;
    for (ValueId id = 0; id < values_.count(); ++id) {
      if (!same_[static_cast<size_t>(id)] || IsSame(values_[id])) continue;
      same_[static_cast<size_t>(id)] = false;
      changed = true;
    }
  }
}

bool Replication::AreSame(const Instruction& operand) const {
  const absl::Span<const ValueId> leaves = values_.Of(operand);
  return std::all_of(leaves.begin(), leaves.end(),
                     [&](ValueId id) { return same_[static_cast<size_t>(id)]; });
}

bool Replication::Of(const Instruction& instruction) const {
  return values_.Has(instruction) && AreSame(instruction);
}

bool Replication::IsSame(const Value& value) const {
  for (const ValueId input : value.inputs) {
    if (!same_[static_cast<size_t>(input)]) return false;
  }
  const Instruction& def = *value.def;
  switch (value.kind) {
    case Value::Kind::kDefined: return IsSame(def, value.leaf);
    // How often a loop runs, and which branch, must be the same.
    case Value::Kind::kLoopState:
      return def.opcode() != Opcode::kWhile || AreSame(*def.while_condition()->root());
    case Value::Kind::kBranch: return AreSame(*def.operand(0));
    case Value::Kind::kShared: return true;
  }
  return false;
}

bool Replication::IsSame(const Instruction& instruction, int64_t leaf) const {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kParameter) {
    const auto& marks = instruction.attrs<ParameterAttrs>().parameter_replication;
    return across_ == Across::kReplicas && marks && leaf < static_cast<int64_t>(marks->size()) &&
           (*marks)[static_cast<size_t>(leaf)];
  }
  if (opcode == Opcode::kReplicaId) return across_ == Across::kPartitions;
  if (opcode == Opcode::kPartitionId) return across_ == Across::kReplicas;
  if (opcode == Opcode::kAllReduce || opcode == Opcode::kAllGather || opcode == Opcode::kAllToAll)
    return CollectiveIsSame(instruction);
  if (HasTrait(opcode, kCollective) || HasTrait(opcode, kAsyncStart) ||
      HasTrait(opcode, kAsyncDone) || kUnpredictable.Has(opcode) || instruction.HasOwnSideEffect())
    return false;
  for (const Computation* callee : instruction.calls()) {
    if (CallKindOf(opcode) == CallKind::kEmbedded && !BodyIsSame(*callee)) return false;
  }
  return std::all_of(instruction.operands().begin(), instruction.operands().end(),
                     [&](const Instruction* operand) { return AreSame(*operand); });
}

// Whether nothing in a region or fusion asks for the device.
bool Replication::BodyIsSame(const Computation& body) const {
  for (const Instruction* instruction : body.instructions()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == (across_ == Across::kReplicas ? Opcode::kReplicaId : Opcode::kPartitionId) ||
        HasTrait(opcode, kCollective) || kUnpredictable.Has(opcode))
      return false;
    for (const Computation* callee : instruction->calls()) {
      if (!BodyIsSame(*callee)) return false;
    }
  }
  return true;
}

// Whether all that must agree are in one group: then they get the same. An all-to-all gives each of
// them something else.
bool Replication::CollectiveIsSame(const Instruction& collective) const {
  // Among replicas, each partition by itself: all partitions do the same with the same.
  const GroupMode other_way =
      across_ == Across::kReplicas ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  if (GroupModeOf(collective) == other_way)
    return std::all_of(collective.operands().begin(), collective.operands().end(),
                       [&](const Instruction* operand) { return AreSame(*operand); });
  if (collective.opcode() == Opcode::kAllToAll) return false;
  const ModuleConfig& config = collective.module().config();
  if (HasManyDevices(config)) return false;  // whose groups nobody lists
  const int64_t partitions = config.num_partitions;
  const bool by_replica = across_ == Across::kReplicas;
  std::vector<int64_t> group_of(static_cast<size_t>(by_replica ? partitions : config.replica_count),
                                -1);
  int64_t group = 0;
  for (const std::vector<int64_t>& devices : DeviceGroups(collective)) {
    for (const int64_t device : devices) {
      const int64_t set = by_replica ? device % partitions : device / partitions;
      if (set < 0 || set >= static_cast<int64_t>(group_of.size())) return false;
      int64_t& seen = group_of[static_cast<size_t>(set)];
      if (seen >= 0 && seen != group) return false;
      seen = group;
    }
    ++group;
  }
  return true;
}

std::string Replication::ToString(const Module& module) {
  const Values values(module);
  const Replication replicas(values, Across::kReplicas);
  const Replication partitions(values, Across::kPartitions);
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      if (!values.Has(*instruction)) continue;
      text += fmt::format("{}: the same on {}\n", instruction->name(),
                          replicas.Of(*instruction)
                              ? partitions.Of(*instruction) ? "all devices" : "all replicas"
                          : partitions.Of(*instruction) ? "all partitions"
                                                        : "no others");
    }
  }
  return text;
}

}  // namespace hlo
