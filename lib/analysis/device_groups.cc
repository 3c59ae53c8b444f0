#include "lib/analysis/device_groups.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "lib/ops/opcode_groups.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

struct Described {
  const ReplicaGroups* groups = nullptr;
  GroupMode mode = GroupMode::kCrossReplica;
};

template <class A>
Described DescribeAttrs(const Instruction& collective) {
  const A& attrs = collective.attrs<A>();
  const bool has_channel = attrs.channel_id.has_value();
  if constexpr (requires { attrs.use_global_device_ids; }) {
    if (attrs.use_global_device_ids) return {&attrs.replica_groups, GroupMode::kFlattened};
    return {&attrs.replica_groups,
            has_channel ? GroupMode::kCrossReplicaAndPartition : GroupMode::kCrossReplica};
  } else {
    return {&attrs.replica_groups,
            has_channel ? GroupMode::kCrossPartition : GroupMode::kCrossReplica};
  }
}

Described Describe(const Instruction& collective) {
  const Opcode opcode = collective.opcode();
  if (kAllGathers.Has(opcode)) return DescribeAttrs<AllGatherAttrs>(collective);
  if (kAllReduces.Has(opcode)) return DescribeAttrs<AllReduceAttrs>(collective);
  if (opcode == Opcode::kReduceScatter) return DescribeAttrs<ReduceScatterAttrs>(collective);
  if (opcode == Opcode::kAllToAll) return DescribeAttrs<AllToAllAttrs>(collective);
  if (opcode == Opcode::kRaggedAllToAll) return DescribeAttrs<RaggedAllToAllAttrs>(collective);
  if (opcode == Opcode::kCollectiveBroadcast)
    return DescribeAttrs<CollectiveBroadcastAttrs>(collective);
  return {};
}

}  // namespace

std::optional<GroupMode> GroupModeOf(const Instruction& collective) {
  const Described described = Describe(collective);
  if (described.groups == nullptr) return std::nullopt;
  return described.mode;
}

const ReplicaGroups& ReplicaGroupsOf(const Instruction& collective) {
  const Described described = Describe(collective);
  HLO_CHECK(described.groups != nullptr);
  return *described.groups;
}

std::vector<std::vector<int64_t>> DeviceGroups(const Instruction& collective) {
  const auto [text, mode] = Describe(collective);
  HLO_CHECK(text != nullptr);
  const ModuleConfig& config = collective.module().config();
  if (HasManyDevices(config)) return {{}};
  const int64_t replicas = config.replica_count, partitions = config.num_partitions;
  const int64_t ids = mode == GroupMode::kFlattened        ? replicas * partitions
                      : mode == GroupMode::kCrossPartition ? partitions
                                                           : replicas;
  ReplicaGroups::Lists lists = text->Flatten();
  if (lists.empty()) {
    lists.emplace_back();
    for (int64_t id = 0; id < ids; ++id) lists[0].push_back(id);
  }
  std::vector<std::vector<int64_t>> groups;
  for (const std::vector<int64_t>& list : lists) {
    switch (mode) {
      case GroupMode::kFlattened: groups.push_back(list); break;
      case GroupMode::kCrossReplica:
        for (int64_t p = 0; p < partitions; ++p) {
          for (std::vector<int64_t>& group = groups.emplace_back(); const int64_t id : list)
            group.push_back(id * partitions + p);
        }
        break;
      case GroupMode::kCrossPartition:
        for (int64_t r = 0; r < replicas; ++r) {
          for (std::vector<int64_t>& group = groups.emplace_back(); const int64_t id : list)
            group.push_back(r * partitions + id);
        }
        break;
      case GroupMode::kCrossReplicaAndPartition:
        for (std::vector<int64_t>& group = groups.emplace_back(); const int64_t id : list) {
          for (int64_t p = 0; p < partitions; ++p) group.push_back(id * partitions + p);
        }
        break;
    }
  }
  return groups;
}

std::optional<int64_t> GroupSize(const Instruction& collective) {
  const auto groups = DeviceGroups(collective);
  if (groups.empty()) return std::nullopt;
  for (const auto& group : groups) {
    if (group.size() != groups[0].size()) return std::nullopt;
  }
  return static_cast<int64_t>(groups[0].size());
}

std::string DeviceGroupsToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      if (!GroupModeOf(*instruction)) continue;
      text += fmt::format("{}:", instruction->name());
      for (const auto& group : DeviceGroups(*instruction))
        text += fmt::format(" {{{}}}", fmt::join(group, ","));
      text += "\n";
    }
  }
  return text;
}

}  // namespace hlo
