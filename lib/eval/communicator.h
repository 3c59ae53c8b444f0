// lib/eval/communicator.h
//
// How the devices that run one module together meet at its collectives: in one process
// (device_group.h), or by whatever carries values from one to another. Every run of a device is
// given one (EvalOptions, RunOptions); without, a device is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

// The devices of a module. The number of one is replica * partitions + partition.
struct DeviceMesh {
  int64_t replicas = 1;
  int64_t partitions = 1;
  int64_t devices() const { return replicas * partitions; }
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual DeviceMesh mesh() const = 0;

  // The results of all devices at a collective, from the operands of all; by device number.
  using Compute = std::function<absl::StatusOr<std::vector<Literal>>(
      const std::vector<std::vector<Literal>>& operands_by_device)>;
  // Blocks until every device has come to the same instruction, and gives the result of this one.
  // Devices that wait at different instructions, and a device that has given up, are errors for
  // everyone.
  virtual absl::StatusOr<Literal> Meet(int64_t device, const Instruction& instruction,
                                       std::vector<Literal> operands, const Compute& compute) = 0;
  // This device will not come any more; those that wait for it get `status`.
  virtual void Leave(absl::Status status) = 0;
};

}  // namespace hlo
