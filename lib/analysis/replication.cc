#include "lib/analysis/replication.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

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

Replication::Replication(const Values& values, Across across, Groups groups)
    : values_(values),
      across_(across),
      groups_(std::move(groups)),
      same_(static_cast<size_t>(values.count()), true) {
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
  if (opcode == Opcode::kDynamicSlice && IsTableOfGroups(instruction)) return true;
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

// One entry of a table, by the number of the device, that is the same for all of a group.
bool Replication::IsTableOfGroups(const Instruction& slice) const {
  const Opcode number = across_ == Across::kReplicas ? Opcode::kReplicaId : Opcode::kPartitionId;
  const Instruction& table = *slice.operand(0);
  if (!table.IsConstant() || table.literal().is_elided() || table.shape().rank() != 1 ||
      !IsInteger(table.shape().element_type()) || slice.shape().dim(0) != 1 ||
      slice.operand(1)->opcode() != number)
    return false;
  return std::all_of(groups_.begin(), groups_.end(),
                     [&](const std::vector<int64_t>& group) {
                       return std::all_of(group.begin(), group.end(), [&](int64_t id) {
                         return id >= 0 && id < table.shape().dim(0) &&
                                table.literal().GetInt(id) == table.literal().GetInt(group[0]);
                       });
                     }) &&
         !groups_.empty();
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
  // The group of the collective that each of our groups is in, for each partition (replica).
  std::map<std::pair<int64_t, int64_t>, int64_t> group_of;
  int64_t group = 0;
  for (const std::vector<int64_t>& devices : DeviceGroups(collective)) {
    for (const int64_t device : devices) {
      if (device < 0 || device >= config.replica_count * partitions) return false;
      const int64_t replica = device / partitions, partition = device % partitions;
      const std::optional<int64_t> ours = GroupOf(by_replica ? replica : partition);
      if (!ours) continue;
      const auto [seen, is_new] =
          group_of.emplace(std::pair(by_replica ? partition : replica, *ours), group);
      if (!is_new && seen->second != group) return false;
    }
    ++group;
  }
  return true;
}

// The number of the group; none: nobody asks for `id`.
std::optional<int64_t> Replication::GroupOf(int64_t id) const {
  if (groups_.empty()) return 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (std::find(groups_[i].begin(), groups_[i].end(), id) != groups_[i].end())
      return static_cast<int64_t>(i);
  }
  return std::nullopt;
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
