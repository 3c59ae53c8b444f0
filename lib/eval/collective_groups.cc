#include "lib/eval/collective_groups.h"

#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

using Group = std::vector<int64_t>;  // device numbers, in the order of the text

// Which ids replica_groups and source_target_pairs hold, and what a group of them is.
enum class GroupMode { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattened };

template <class A>
GroupMode ModeOf(const A& attrs) {
  if constexpr (requires { attrs.use_global_device_ids; }) {
    if (attrs.use_global_device_ids) return GroupMode::kFlattened;
    return attrs.channel_id.has_value() ? GroupMode::kCrossReplicaAndPartition
                                        : GroupMode::kCrossReplica;
  } else {
    return attrs.channel_id.has_value() ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  }
}

std::vector<Group> GroupsOf(const ReplicaGroups& text, GroupMode mode, const DeviceMesh& mesh) {
  ReplicaGroups::Lists lists = text.Flatten();
  const bool by_partition = mode == GroupMode::kCrossPartition;
  const int64_t ids = mode == GroupMode::kFlattened ? mesh.devices()
                      : by_partition                ? mesh.partitions
                                                    : mesh.replicas;
  if (lists.empty()) {
    lists.emplace_back();
    for (int64_t i = 0; i < ids; ++i) lists[0].push_back(i);
  }
  std::vector<Group> groups;
  for (const auto& list : lists) {
    const auto add = [&](auto&& device_of) {
      Group group;
      for (int64_t id : list) {
        if (id >= 0 && id < ids) group.push_back(device_of(id));
      }
      if (!group.empty()) groups.push_back(std::move(group));
    };
    switch (mode) {
      case GroupMode::kFlattened: add([](int64_t id) { return id; }); break;
      case GroupMode::kCrossReplica:
        for (int64_t p = 0; p < mesh.partitions; ++p)
          add([&](int64_t id) { return id * mesh.partitions + p; });
        break;
      case GroupMode::kCrossPartition:
        for (int64_t r = 0; r < mesh.replicas; ++r)
          add([&](int64_t id) { return r * mesh.partitions + id; });
        break;
      case GroupMode::kCrossReplicaAndPartition: {
        Group group;
        for (int64_t id : list) {
          for (int64_t p = 0; p < mesh.partitions && id >= 0 && id < ids; ++p)
            group.push_back(id * mesh.partitions + p);
        }
        if (!group.empty()) groups.push_back(std::move(group));
        break;
      }
    }
  }
  return groups;
}

// All replicas of a partition, or all partitions of a replica: whom a permute may send to.
Group LineOf(int64_t device, bool by_partition, const DeviceMesh& mesh) {
  Group line;
  for (int64_t id = 0; id < (by_partition ? mesh.partitions : mesh.replicas); ++id) {
    line.push_back(by_partition ? device / mesh.partitions * mesh.partitions + id
                                : id * mesh.partitions + device % mesh.partitions);
  }
  return line;
}

template <class A>
Group GroupIn(const Instruction& collective, int64_t device, const DeviceMesh& mesh) {
  const A& attrs = collective.attrs<A>();
  for (Group& group : GroupsOf(attrs.replica_groups, ModeOf(attrs), mesh)) {
    if (std::find(group.begin(), group.end(), device) != group.end()) return std::move(group);
  }
  return {};
}

Group PermuteLine(const Instruction& permute, int64_t device, const DeviceMesh& mesh) {
  return LineOf(device, permute.attrs<CollectivePermuteAttrs>().channel_id.has_value(), mesh);
}

}  // namespace

std::vector<int64_t> GroupOf(const Instruction& collective, int64_t device,
                             const DeviceMesh& mesh) {
  static constexpr struct {
    OpcodeSet opcodes;
    Group (*group)(const Instruction&, int64_t, const DeviceMesh&);
  } kRows[] = {
      {kAllGathers, GroupIn<AllGatherAttrs>},
      {{Opcode::kAllToAll}, GroupIn<AllToAllAttrs>},
      {{Opcode::kRaggedAllToAll}, GroupIn<RaggedAllToAllAttrs>},
      {{Opcode::kCollectiveBroadcast}, GroupIn<CollectiveBroadcastAttrs>},
      {{Opcode::kReduceScatter}, GroupIn<ReduceScatterAttrs>},
      {kPermutes, PermuteLine},
  };
  for (const auto& row : kRows) {
    if (row.opcodes.Has(collective.opcode())) return row.group(collective, device, mesh);
  }
  return GroupIn<AllReduceAttrs>(collective, device, mesh);
}

}  // namespace hlo
