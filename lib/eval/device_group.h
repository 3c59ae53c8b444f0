// lib/eval/device_group.h
//
// Several logical devices of one module in one process: a thread for each, meeting at collectives.
#pragma once

#include <functional>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/eval/in_process_communicator.h"

namespace hlo {

// What one device does, in a thread of its own.
using RunDevice = std::function<absl::StatusOr<Literal>(int64_t replica, int64_t partition,
                                                        Communicator& communicator)>;
// Runs all devices that meet there; results by device.
absl::StatusOr<std::vector<Literal>> RunOnDevices(InProcessCommunicator& communicator,
                                                  const RunDevice& run);
// Runs all replica_count · num_partitions devices of the module.
absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run);

// Evaluates the entry computation on all of them; arguments by device.
absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options);

}  // namespace hlo
