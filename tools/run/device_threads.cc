#include "tools/run/device_threads.h"

#include <utility>

#include "lib/eval/device_group.h"
#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "tools/run/feed_files.h"

namespace hlo {
namespace {

// Even a single device may send to itself.
bool Transfers(const Instruction& instruction) { return kSendRecvStarts.Has(instruction.opcode()); }

}  // namespace

std::chrono::duration<double> DeviceLimits::timeout() const {
  return timeout_seconds > 0 ? std::chrono::duration<double>(timeout_seconds)
                             : InProcessCommunicator::kLongestWait;
}

DeviceThreads::DeviceThreads(const Module& module, const DeviceMesh& mesh, DeviceLimits limits)
    : limits_(std::move(limits)),
      in_process_(mesh, limits_.timeout()),
      communicator_(limits_.distributed != nullptr
                        ? static_cast<DeviceCommunicator&>(*limits_.distributed)
                        : in_process_),
      is_alone_(mesh.devices() == 1 && limits_.feed == nullptr && limits_.distributed == nullptr &&
                !AnyInstruction(module, Transfers)) {
  communicator_.set_feed(limits_.feed);
}

RunOptions DeviceThreads::OptionsOf(int64_t device, RunOptions options) {
  const int64_t partitions = communicator_.mesh().partitions;
  options.replica_id = device / partitions;
  options.partition_id = device % partitions;
  if (!is_alone_) options.communicator = &communicator_;
  return options;
}

absl::Status DeviceThreads::Run(const RunDevice& run) {
  if (limits_.feed != nullptr) limits_.feed->Restart();
  return GoOn(run);
}

absl::Status DeviceThreads::GoOn(const RunDevice& run) {
  communicator_.Restart();
  const DeviceMesh mesh = communicator_.mesh();
  if (limits_.distributed == nullptr && mesh.devices() == 1) return run(0);
  return RunOnDevices(
             communicator_,
             [&](int64_t replica, int64_t partition, Communicator&) -> absl::StatusOr<Literal> {
               RETURN_IF_ERROR(run(replica * mesh.partitions + partition));
               return Literal();
             },
             {.call = limits_.abandon})
      .status();
}

}  // namespace hlo
