// lib/eval/communicator.h
//
// How the devices that run one module together meet at its collectives: in one process
// (in_process_communicator.h), or by whatever carries values from one to another. Every run of a
// device is given one (EvalOptions, RunOptions); without, a device is alone. A device comes with
// one question at a time.
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

  // The result of the member with this place in its group, from the operands of all of them, in the
  // order of the group.
  using Compute = std::function<absl::StatusOr<Literal>(
      const std::vector<std::vector<Literal>>& operands_by_member, size_t self)>;
  // Blocks until every device of `group`, `device` among them, has come to the same instruction;
  // then each computes its own result. That they cannot all come, or that one has failed, is an
  // error for everyone.
  virtual absl::StatusOr<Literal> Meet(int64_t device, const Instruction& instruction,
                                       const std::vector<int64_t>& group,
                                       std::vector<Literal> operands, const Compute& compute) = 0;

  // From one device to another over a channel, first in, first out. Sending never blocks.
  struct Route {
    int64_t channel = 0;
    int64_t source = 0;
    int64_t target = 0;
    auto operator<=>(const Route&) const = default;
  };
  virtual absl::Status Send(const Route& route, Literal value) = 0;
  // Blocks until there is something to receive at `instruction`.
  virtual absl::StatusOr<Literal> Receive(const Route& route, const Instruction& instruction) = 0;

  // This device will not come any more; after an error nobody needs to wait for anybody.
  virtual void Leave(int64_t device, absl::Status status) = 0;
};

}  // namespace hlo
