#include "lib/eval/device_group.h"

#include <system_error>
#include <thread>

#include "lib/support/crash_context.h"
#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<Literal> InProcessCommunicator::Meet(int64_t device, const Instruction& instruction,
                                                    std::vector<Literal> operands,
                                                    const Compute& compute) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!left_.ok()) return left_;
  if (arrived_ > 0 && instruction_ != &instruction) {
    left_ = Error(instruction.loc(), "devices wait for each other at `{}` and at `{}`",
                  instruction_->name(), instruction.name());
    changed_.notify_all();
    return left_;
  }
  instruction_ = &instruction;
  operands_[static_cast<size_t>(device)] = std::move(operands);
  const int64_t round = round_;
  if (++arrived_ == mesh_.devices()) {
    absl::StatusOr<std::vector<Literal>> results = compute(operands_);
    status_ = results.status();
    if (results.ok()) results_ = *std::move(results);
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  } else {
    changed_.wait(lock, [&] { return round_ != round || !left_.ok(); });
    if (round_ == round) return left_;
  }
  if (!status_.ok()) return status_;
  // Nobody can start the next round before all have left this one: it needs every device.
  return std::move(results_[static_cast<size_t>(device)]);
}

void InProcessCommunicator::Leave(absl::Status status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (left_.ok()) left_ = std::move(status);
  changed_.notify_all();
}

absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run) {
  const DeviceMesh mesh{module.config().replica_count, module.config().num_partitions};
  InProcessCommunicator communicator(mesh);
  std::vector<absl::StatusOr<Literal>> results(static_cast<size_t>(mesh.devices()), Literal());
  std::vector<std::thread> threads;
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    absl::StatusOr<Literal>& result = results[static_cast<size_t>(device)];
    const auto work = [&, device, lines = CrashLine::Innermost()] {
      const CrashStack stack;
      const CrashLinesOfOther own_lines(lines);
      result = run(device / mesh.partitions, device % mesh.partitions, communicator);
      communicator.Leave(result.ok()
                             ? Error("device {} has finished, others still wait for it", device)
                             : result.status());
    };
    try {
      threads.emplace_back(work);
    } catch (
        const std::system_error& error) {  // the system gives no more: the others must not wait
      result = MakeError(absl::StatusCode::kResourceExhausted, SourceLoc(),
                         fmt::format("cannot start a thread for device {} of {}: {}", device,
                                     mesh.devices(), error.what()));
      communicator.Leave(result.status());
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
