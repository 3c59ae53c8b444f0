#include "backends/cpu/kernel_thunk.h"

#include <algorithm>

#include "lib/support/thread_pool.h"

namespace hlo::cpu {
namespace {

// Below this much work per worker a fork-join costs more than it saves.
constexpr double kMinNanosecondsPerPart = 1500;

int PartsFor(const KernelLaunch& launch) {
  const double total = launch.cost_ns_per_task * static_cast<double>(launch.task_count);
  const auto by_cost = static_cast<int64_t>(total / kMinNanosecondsPerPart);
  return static_cast<int>(
      std::clamp<int64_t>(std::min(by_cost, launch.task_count), 1, launch.threads));
}

}  // namespace

KernelThunk::KernelThunk(std::string_view name, KernelLaunch launch)
    : Thunk(name), launch_(std::move(launch)), parts_(PartsFor(launch_)) {}

BufferUses KernelThunk::uses() const {
  BufferUses uses;
  const size_t operands = launch_.buffers.size() - launch_.result_count;
  uses.reads.assign(launch_.buffers.begin(),
                    launch_.buffers.begin() + static_cast<std::ptrdiff_t>(operands));
  uses.writes.assign(launch_.buffers.begin() + static_cast<std::ptrdiff_t>(operands),
                     launch_.buffers.end());
  return uses;
}

absl::Status KernelThunk::Execute(ExecuteContext& context) const {
  absl::InlinedVector<void*, 16> addresses;
  for (const BufferSlice& slice : launch_.buffers) addresses.push_back(context.Address(slice));
  if (parts_ == 1) {
    launch_.function(addresses.data(), 0, launch_.task_count, context.scratch);
    return absl::OkStatus();
  }
  context.pool->ParallelFor(parts_, [&](int64_t part, int) {
    const int64_t begin = launch_.task_count * part / parts_;
    const int64_t end = launch_.task_count * (part + 1) / parts_;
    launch_.function(addresses.data(), begin, end, context.scratch + part * launch_.scratch_bytes);
  });
  return absl::OkStatus();
}

}  // namespace hlo::cpu
