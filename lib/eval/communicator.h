// lib/eval/communicator.h
//
// How the devices that run one module together meet at its collectives: in one process
// (in_process_communicator.h), or by whatever carries values from one to another. Every run of a
// device is given one (EvalOptions, RunOptions); without, a device is alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"
#include "lib/types/literal.h"

namespace hlo {

class HostFeed;  // lib/eval/host_feed.h

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
  // What infeed and outfeed of all devices talk to; null: there is no host to talk to.
  virtual HostFeed* feed() const { return nullptr; }

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

  // What a device brings to a collective that works on memory: its operands' and results' arrays.
  struct Places {
    std::vector<const std::byte*> operands;
    std::vector<std::byte*> results;
  };
  // The share of the work of the member with this place in its group.
  using Work = std::function<void(const std::vector<Places>& members, size_t self)>;
  // As Meet for members in one address space: when all have come, all of them work at the same
  // time, and nobody goes on before all have done their share. False: they are not, and nothing was
  // done.
  virtual absl::StatusOr<bool> MeetInMemory(int64_t device, const Instruction& instruction,
                                            const std::vector<int64_t>& group, Places own,
                                            const Work& work) = 0;

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

  // What has ended the run: somebody's error, or that nobody can go on. Cheap: loops that meet
  // nobody ask, so that they end with the others.
  virtual absl::Status Failure() const = 0;
  // From now on the device does so many things more (fewer) at the same time, of which each may
  // wait here. It begins with one.
  virtual void AddThreads(int64_t /*device*/, int /*count*/) {}
  // This device will not come any more; after an error nobody needs to wait for anybody.
  virtual void Leave(int64_t device, absl::Status status) = 0;
};

}  // namespace hlo
