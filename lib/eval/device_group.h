// lib/eval/device_group.h
//
// Several logical devices of one module in one process: a thread for each, meeting at collectives.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/eval/in_process_communicator.h"

namespace hlo {

// What one device does, in a thread of its own.
using RunDevice = std::function<absl::StatusOr<Literal>(int64_t replica, int64_t partition,
                                                        Communicator& communicator)>;
// Called with the error of a run when, so long after it, a device still computes something that it
// cannot be taken from. It does not return.
struct Abandon {
  std::chrono::duration<double> after = std::chrono::seconds(10);
  std::function<void(const absl::Status& error)> call;  // or null: all devices are waited for
};
// Runs all devices of this process that meet there; results in their order. The error of one device
// ends the others.
absl::StatusOr<std::vector<Literal>> RunOnDevices(DeviceCommunicator& communicator,
                                                  const RunDevice& run,
                                                  const Abandon& abandon = {});
// Runs all replica_count · num_partitions devices of the module.
absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run);

// Evaluates the entry computation on all of them; arguments by device.
absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options);

}  // namespace hlo
