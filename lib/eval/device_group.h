// lib/eval/device_group.h
//
// Several logical devices of one module in one process: a thread with an evaluator for each,
// meeting at collectives.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "lib/eval/evaluator.h"

namespace hlo {

// Where the devices exchange operands. Device number = replica · partitions + partition.
class Rendezvous {
 public:
  explicit Rendezvous(int devices) : devices_(devices), operands_(static_cast<size_t>(devices)) {}

  using Compute = std::function<absl::StatusOr<std::vector<Literal>>(
      const std::vector<std::vector<Literal>>& operands_by_device)>;

  // Blocks until every device has come to the same instruction; the last one computes the results
  // of all. Devices that wait at different instructions, and a device that has given up, are errors
  // for everyone.
  absl::StatusOr<Literal> Meet(int device, const Instruction& instruction,
                               std::vector<Literal> operands, const Compute& compute);
  // This device will not come any more; those that wait for it get `status`.
  void Leave(absl::Status status);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int devices_;
  int arrived_ = 0;
  int64_t round_ = 0;
  const Instruction* instruction_ = nullptr;
  std::vector<std::vector<Literal>> operands_;
  std::vector<Literal> results_;
  absl::Status status_;
  absl::Status left_;
};

// Runs the entry computation on all replica_count · num_partitions devices of the module; arguments
// and results by device.
absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options);

}  // namespace hlo
