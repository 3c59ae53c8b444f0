// Which devices take part in one collective together.
//
//   all-reduce(x), replica_groups={{0,1}}, replica_count=2, num_partitions=2     {0,2}, {1,3}
//
// Groups in the text are of replicas, partitions or devices, depending on the channel and on
// `use_global_device_ids`; here they are of devices, whose number is
// replica * num_partitions + partition. O(devices) for each question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// What the ids of `replica_groups` are, and what a group of them stands for.
enum class GroupMode : uint8_t {
  kCrossReplica,              // replicas; each partition by itself
  kCrossPartition,            // partitions; each replica by itself
  kCrossReplicaAndPartition,  // replicas with all their partitions
  kFlattened,                 // devices
};

// None for what is no collective with groups.
std::optional<GroupMode> GroupModeOf(const Instruction& collective);
// The attribute; requires a mode.
const ReplicaGroups& ReplicaGroupsOf(const Instruction& collective);

// Beyond so many devices nothing is listed; nor where the header has a number below zero.
inline constexpr int64_t kMostDevices = 1 << 20;
inline bool HasManyDevices(const ModuleConfig& config) {
  return config.replica_count < 0 || config.num_partitions < 0 ||
         config.replica_count > kMostDevices || config.num_partitions > kMostDevices ||
         config.replica_count * config.num_partitions > kMostDevices;
}

// The groups as lists of device numbers, in the order of the text; requires a mode. One empty group
// where the module has many devices.
std::vector<std::vector<int64_t>> DeviceGroups(const Instruction& collective);
// The number of devices in each group, if it is the same for all.
std::optional<int64_t> GroupSize(const Instruction& collective);

// A line for each collective.
std::string DeviceGroupsToString(const Module& module);

}  // namespace hlo
