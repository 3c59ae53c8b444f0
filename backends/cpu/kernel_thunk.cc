#include "backends/cpu/kernel_thunk.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "backends/cpu/memory_states.h"
#include "lib/support/status.h"
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
    : CpuThunk(name), launch_(std::move(launch)), parts_(PartsFor(launch_)) {}

BufferUses KernelThunk::uses() const {
  BufferUses uses;
  const size_t operands = launch_.buffers.size() - launch_.result_count;
  uses.reads.assign(launch_.buffers.begin(),
                    launch_.buffers.begin() + static_cast<std::ptrdiff_t>(operands));
  uses.writes.assign(launch_.buffers.begin() + static_cast<std::ptrdiff_t>(operands),
                     launch_.buffers.end());
  return uses;
}

absl::Status KernelThunk::Run(CpuState& state) const {
  return launch_.tracks_states ? RunTracked(state) : RunKernel(state, {});
}

absl::Status KernelThunk::RunKernel(CpuState& state,
                                    absl::Span<tile::ByteState* const> states) const {
  const CrashLine place(WriteKernelPlace, launch_.instruction);
  absl::InlinedVector<void*, 16> addresses;
  for (const BufferSlice& slice : launch_.buffers) addresses.push_back(state.Address(slice));
  const auto buffers = absl::MakeSpan(addresses);
  const auto run = [&](int64_t part, int64_t parts, std::byte* scratch) {
    const int64_t begin = launch_.task_count * part / parts;
    const int64_t end = launch_.task_count * (part + 1) / parts;
    return launch_.code.Run(buffers, begin, end, scratch, states, {part, launch_.is_update});
  };
  if (parts_ == 1) {
    // What one thread does is looked at as if several did it, one after the other.
    constexpr int64_t kTrackedParts = 3;
    const int64_t parts =
        states.empty() ? 1 : std::clamp<int64_t>(launch_.task_count, 1, kTrackedParts);
    for (int64_t part = 0; part < parts; ++part) RETURN_IF_ERROR(run(part, parts, state.scratch));
    return absl::OkStatus();
  }
  absl::InlinedVector<absl::Status, 16> results(static_cast<size_t>(parts_));
  state.pool->ParallelFor(parts_, [&](int64_t part, int) {
    results[static_cast<size_t>(part)] =
        run(part, parts_, state.scratch + part * launch_.scratch_bytes);
  });
  return FirstError(results);
}

absl::Status KernelThunk::RunTracked(CpuState& state) const {
  MemoryStates& states = static_cast<TrackingState&>(state).states;
  const BufferUses used = uses();
  states.Begin(used);
  absl::InlinedVector<tile::ByteState*, 16> of_buffers;
  for (const BufferSlice& slice : launch_.buffers) of_buffers.push_back(states.At(slice));
  RETURN_IF_ERROR(RunKernel(state, of_buffers));
  for (size_t i = 0; i < used.writes.size(); ++i) {
    // What an update leaves as it was has been looked at when it was written.
    const int64_t at =
        launch_.is_update ? -1 : states.FirstBelow(used.writes[i], tile::ByteState::kJustNow);
    if (at >= 0) return launch_.code.LeftUnwritten(static_cast<int>(used.reads.size() + i), at);
    states.SetWritten(used.writes[i]);
  }
  return absl::OkStatus();
}

}  // namespace hlo::cpu
