#include "lib/eval/device_group.h"

#include <system_error>
#include <thread>

#include "lib/support/crash_context.h"
#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<Literal> Rendezvous::Meet(int device, const Instruction& instruction,
                                         std::vector<Literal> operands, const Compute& compute) {
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
  if (++arrived_ == devices_) {
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

void Rendezvous::Leave(absl::Status status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (left_.ok()) left_ = std::move(status);
  changed_.notify_all();
}

absl::StatusOr<std::vector<Literal>> EvaluateOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments_by_device,
    const EvalOptions& options) {
  const int64_t partitions = module.config().num_partitions;
  const int devices = static_cast<int>(module.config().replica_count * partitions);
  if (static_cast<int>(arguments_by_device.size()) != devices) {
    return Error("the module runs on {} devices, got arguments for {}", devices,
                 arguments_by_device.size());
  }
  Rendezvous rendezvous(devices);
  std::vector<absl::StatusOr<Literal>> results(static_cast<size_t>(devices),
                                               absl::StatusOr<Literal>(Literal()));
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) {
    const auto run = [&, device, lines = CrashLine::Innermost()] {
      const CrashStack stack;
      const CrashLinesOfOther own_lines(lines);
      EvalOptions own = options;
      own.replica_id = device / partitions;
      own.partition_id = device % partitions;
      own.replica_count = module.config().replica_count;
      own.partition_count = partitions;
      own.rendezvous = &rendezvous;
      Evaluator evaluator(std::move(own));
      const size_t d = static_cast<size_t>(device);
      results[d] = evaluator.Run(module, arguments_by_device[d]);
      rendezvous.Leave(results[d].ok()
                           ? Error("device {} has finished, others still wait for it", device)
                           : results[d].status());
    };
    try {
      threads.emplace_back(run);
    } catch (
        const std::system_error& error) {  // the system gives no more: the others must not wait
      results[static_cast<size_t>(device)] =
          MakeError(absl::StatusCode::kResourceExhausted, SourceLoc(),
                    fmt::format("cannot start a thread for device {} of {}: {}", device, devices,
                                error.what()));
      rendezvous.Leave(results[static_cast<size_t>(device)].status());
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

}  // namespace hlo
