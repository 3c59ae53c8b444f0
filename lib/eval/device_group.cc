#include "lib/eval/device_group.h"

#include <system_error>
#include <thread>

#include "lib/support/crash_context.h"
#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run) {
  InProcessCommunicator communicator(
      {module.config().replica_count, module.config().num_partitions});
  return RunOnDevices(communicator, run);
}

absl::StatusOr<std::vector<Literal>> RunOnDevices(InProcessCommunicator& communicator,
                                                  const RunDevice& run) {
  const DeviceMesh mesh = communicator.mesh();
  std::vector<absl::StatusOr<Literal>> results(static_cast<size_t>(mesh.devices()), Literal());
  std::vector<std::thread> threads;
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    absl::StatusOr<Literal>& result = results[static_cast<size_t>(device)];
    const auto work = [&, device, lines = CrashLine::Innermost()] {
      const CrashStack stack;
      const CrashLinesOfOther own_lines(lines);
      result = run(device / mesh.partitions, device % mesh.partitions, communicator);
      communicator.Leave(device, result.status());
    };
    try {
      threads.emplace_back(work);
    } catch (
        const std::system_error& error) {  // the system gives no more: the others must not wait
      result = MakeError(absl::StatusCode::kResourceExhausted, SourceLoc(),
                         fmt::format("cannot start a thread for device {} of {}: {}", device,
                                     mesh.devices(), error.what()));
      communicator.Leave(device, result.status());
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Literal> values;
  for (absl::StatusOr<Literal>& result : results) {
    if (!result.ok()) return result.status();
    values.push_back(*std::move(result));
  }
  return values;
}

absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options) {
  const int64_t partitions = module.config().num_partitions;
  const int64_t devices = module.config().replica_count * partitions;
  if (std::ssize(arguments_by_device) != devices) {
    return Error("the module runs on {} devices, got arguments for {}", devices,
                 arguments_by_device.size());
  }
  return RunOnDevices(module, [&](int64_t replica, int64_t partition, Communicator& communicator) {
    EvalOptions own = options;
    own.replica_id = replica;
    own.partition_id = partition;
    own.communicator = &communicator;
    const auto device = static_cast<size_t>(replica * partitions + partition);
    return Evaluator(std::move(own)).Run(module, arguments_by_device[device]);
  });
}

}  // namespace hlo
