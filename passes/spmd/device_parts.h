// Values of a whole program and of its partitions: inputs are cut as their shardings say, results
// put together.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"

namespace hlo {

// Whether `module` came out of spmd-partitioner: it takes and gives parts of what it took and gave.
bool IsPartitioned(const Module& module);

// What each partition has of `value`. Places beyond the end of an array hold elements of it from
// the beginning on: nothing may depend on them.
absl::StatusOr<std::vector<Literal>> CutByPartition(const Literal& value, const Sharding& sharding,
                                                    int64_t partitions);
// The value of this shape whose parts these are; of partitions that have the same, the first one
// counts. An error if some part has not the shape it is to have.
absl::StatusOr<Literal> JoinPartitions(const std::vector<Literal>& parts, const Sharding& sharding,
                                       Shape whole);

// What every partition of a partitioned module takes, of the arguments of one replica; and what the
// results of all devices, replica by replica, are together, by replica.
absl::StatusOr<std::vector<std::vector<Literal>>> CutArguments(
    const Module& module, const std::vector<Literal>& arguments);
absl::StatusOr<std::vector<Literal>> JoinResults(const Module& module,
                                                 const std::vector<Literal>& by_device,
                                                 Shape whole);

}  // namespace hlo
