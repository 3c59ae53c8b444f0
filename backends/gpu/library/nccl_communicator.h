// backends/gpu/library/nccl_communicator.h
//
// The communicator of devices that are GPUs: collectives on device memory, by NCCL. It stands
// beside a Communicator of the host (lib/eval/communicator.h), by which the members of a group meet
// first, whether they are threads or processes:
//
//   meet       each brings a ticket: its GPU, and at the first meeting an id from the first member
//   join       the first time: a communicator of NCCL for the group, made by the id
//   call       the plan (collective_plan.h) in one group of calls, on the device's stream
//   wait       until the stream is done; NCCL's errors and other devices' are asked for meanwhile
//
// As all have come before NCCL hears of it, that they cannot is found and told by the host's
// communicator. A group whose members see in each other's tickets that they do not all have GPUs of
// their own, or NCCL, or have lost their communicator, is the host's from then on.
//
// An error, or longer than `longest_wait` without an end, aborts the communicator of NCCL, so that
// the device's stream comes to an end, too. The object must live for all runs, and is destroyed by
// all processes: NCCL waits for all ranks then.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "backends/gpu/cuda/nccl.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/library/collective_plan.h"
#include "lib/eval/communicator.h"

namespace hlo::gpu {

class NcclCommunicator final {
 public:
  static constexpr std::chrono::seconds kLongestWait{1800};

  // `nccl`: null where this process has none; else it outlives this object.
  explicit NcclCommunicator(const Nccl* nccl,
                            std::chrono::duration<double> longest_wait = kLongestWait)
      : nccl_(nccl), longest_wait_(longest_wait) {}
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // A device that comes to a collective. The calling thread may use its GPU.
  struct Member {
    Communicator& host;
    int64_t device = 0;
    std::string_view gpu;  // DeviceProperties::uuid
    Stream& stream;
  };
  struct Arrays {
    std::vector<DevicePtr> operands, results;
  };
  // A collective that IsForNccl takes. True: it is done. False: it is for the host, nothing was
  // done, and all members of the group have the same answer.
  absl::StatusOr<bool> Meet(const Member& member, const Instruction& collective,
                            const std::vector<int64_t>& group, const Arrays& arrays);

 private:
  // What a device has to do with a group.
  struct Clique {
    enum class State : uint8_t {
      kNew,
      kJoined,
      kLost,    // this device has no communicator, which the others do not know yet
      kOnHost,  // which all know
    };
    State state = State::kNew;
    void* comm = nullptr;  // of kJoined
    int rank = 0;
  };
  struct Ticket {
    Clique::State state = Clique::State::kLost;
    std::array<char, 16> gpu = {};
    NcclUniqueId id = {};  // from the first member of a new group
  };
  // A step under way.
  struct Work {
    const Member& member;
    const Instruction& collective;
    const std::vector<int64_t>& group;
    Clique& clique;
  };
  using Brought = std::vector<std::vector<Literal>>;  // by member

  Clique& CliqueOf(int64_t device, const std::vector<int64_t>& group);
  Ticket TicketOf(const Member& member, const Clique& clique) const;
  static absl::StatusOr<Brought> Gather(const Work& work, std::vector<Literal> own);
  static std::vector<Ticket> TicketsIn(const Brought& brought);
  absl::Status Join(const Work& work, NcclUniqueId id);
  absl::Status Run(const Work& work, const CollectivePlan& plan, const Arrays& arrays);
  absl::Status Call(const Work& work, const CollectiveStep& step, const Arrays& arrays) const;
  // Until `is_done` and NCCL has no call under way.
  absl::Status Wait(const Work& work, absl::FunctionRef<absl::StatusOr<bool>()> is_done);
  // The error of a call on the clique's communicator, with its place.
  absl::Status Check(const Work& work, int result, const char* call) const;
  // Ends the clique's communicator; gives `status`.
  absl::Status Abort(const Work& work, absl::Status status);
  void Leave(Clique& clique) const;

  const Nccl* const nccl_;
  const std::chrono::duration<double> longest_wait_;
  std::mutex mutex_;  // of the map; a clique is its device's
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::unique_ptr<Clique>> cliques_;
  // Those joined, by device, in the order in which they were.
  std::map<int64_t, std::vector<Clique*>> joined_;
};

}  // namespace hlo::gpu
