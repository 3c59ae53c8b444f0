// lib/eval/device_group.h
//
// Several logical devices of one module in one process: a thread for each, meeting at collectives.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "lib/eval/communicator.h"
#include "lib/eval/evaluator.h"

namespace hlo {

// A rendezvous of threads: the last one to come computes the results of all.
class InProcessCommunicator final : public Communicator {
 public:
  explicit InProcessCommunicator(const DeviceMesh& mesh)
      : mesh_(mesh), operands_(static_cast<size_t>(mesh.devices())) {}

  DeviceMesh mesh() const override { return mesh_; }
  absl::StatusOr<Literal> Meet(int64_t device, const Instruction& instruction,
                               std::vector<Literal> operands, const Compute& compute) override;
  void Leave(absl::Status status) override;

 private:
  DeviceMesh mesh_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t arrived_ = 0;
  int64_t round_ = 0;
  const Instruction* instruction_ = nullptr;
  std::vector<std::vector<Literal>> operands_;
  std::vector<Literal> results_;
  absl::Status status_;
  absl::Status left_;
};

// What one device does, in a thread of its own.
using RunDevice = std::function<absl::StatusOr<Literal>(int64_t replica, int64_t partition,
                                                        Communicator& communicator)>;
// Runs all replica_count · num_partitions devices of the module; results by device.
absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run);

// Evaluates the entry computation on all of them; arguments by device.
absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options);

}  // namespace hlo
