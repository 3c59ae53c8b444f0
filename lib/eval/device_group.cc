#include "lib/eval/device_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "lib/support/crash_context.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// What the devices of a run come to.
class Outcomes {
 public:
  explicit Outcomes(const std::vector<int64_t>& devices)
      : devices_(devices), results_(devices.size(), Literal()), own_error_(devices.size()) {}

  // Of the i-th device.
  void Finish(Communicator& communicator, size_t i, absl::StatusOr<Literal> result) {
    const absl::Status status = result.status();
    const absl::Status before = communicator.Failure();
    {
      const std::lock_guard lock(mutex_);
      own_error_[i] = !status.ok() && status != before;
      results_[i] = std::move(result);
      ++finished_;
    }
    const bool is_own = !status.ok() && status != before;
    communicator.Leave(
        devices_[i],
        is_own ? AddNote(status, SourceLoc(), fmt::format("on device {}", devices_[i])) : status);
    changed_.notify_all();
  }

  // Until all have finished.
  void WaitOrAbandon(const Communicator& communicator, const Abandon& abandon) {
    std::unique_lock lock(mutex_);
    const auto all = [this] { return finished_ == results_.size(); };
    // A look now and then: errors that nobody has finished with are rare.
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), all)) {
      const absl::Status failure = communicator.Failure();
      if (failure.ok()) continue;
      if (changed_.wait_for(lock, abandon.after, all)) return;
      abandon.call(failure);
    }
  }

  // The error is that of the first device that has one of its own.
  absl::StatusOr<std::vector<Literal>> Values(const Communicator& communicator) && {
    const auto failed = std::count(own_error_.begin(), own_error_.end(), true);
    for (size_t i = 0; i < results_.size() && failed > 0; ++i) {
      if (!own_error_[i]) continue;
      const absl::Status error = results_[i].status();
      return failed == std::ssize(results_)
                 ? error
                 : AddNote(error, SourceLoc(), fmt::format("on device {}", devices_[i]));
    }
    RETURN_IF_ERROR(communicator.Failure());
    std::vector<Literal> values;
    for (absl::StatusOr<Literal>& result : results_) {
      if (!result.ok()) return result.status();
      values.push_back(*std::move(result));
    }
    return values;
  }

 private:
  const std::vector<int64_t>& devices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<absl::StatusOr<Literal>> results_;
  std::vector<bool> own_error_;  // not one that ended the others, too
  size_t finished_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Literal>> RunOnDevices(const Module& module, const RunDevice& run) {
  InProcessCommunicator communicator(
      {module.config().replica_count, module.config().num_partitions});
  return RunOnDevices(communicator, run);
}

absl::StatusOr<std::vector<Literal>> RunOnDevices(DeviceCommunicator& communicator,
                                                  const RunDevice& run, const Abandon& abandon) {
  const DeviceMesh mesh = communicator.mesh();
  const std::vector<int64_t> devices = communicator.own_devices();
  Outcomes outcomes(devices);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int64_t device = devices[i];
    const auto work = [&, i, device, lines = CrashLine::Innermost()] {
      const CrashStack stack;
      const CrashLinesOfOther own_lines(lines);
      absl::StatusOr<Literal> result =
          run(device / mesh.partitions, device % mesh.partitions, communicator);
      outcomes.Finish(communicator, i, std::move(result));
    };
    try {
      threads.emplace_back(work);
    } catch (
        const std::system_error& error) {  // the system gives no more: the others must not wait
      for (size_t other = i; other < devices.size(); ++other) {
        outcomes.Finish(communicator, other,
                        MakeError(absl::StatusCode::kResourceExhausted, SourceLoc(),
                                  fmt::format("cannot start a thread for device {} of {}: {}",
                                              device, mesh.devices(), error.what())));
      }
      break;
    }
  }
  if (abandon.call != nullptr) outcomes.WaitOrAbandon(communicator, abandon);
  for (std::thread& thread : threads) thread.join();
  return std::move(outcomes).Values(communicator);
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
