#include "backends/cpu/cpu_state.h"

#include <cstring>

#include "backends/cpu/background.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {

CpuState::CpuState() = default;
CpuState::~CpuState() = default;

bool CpuState::IsCancelled() const {
  for (const CpuState* state = this; state != nullptr; state = state->starter) {
    if (state->is_cancelled.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

std::unique_ptr<CpuState> CpuState::MakeChild() const { return std::make_unique<CpuState>(); }

absl::Status CpuState::Copy(Stream& /*stream*/, const BufferSlice& to, const BufferSlice& from,
                            int64_t bytes) {
  // Fewer bytes per thread are copied before another one is at hand.
  constexpr int64_t kBytesPerThread = 64 << 10;
  auto* const target = static_cast<std::byte*>(Address(to));
  const auto* const source = static_cast<const std::byte*>(Address(from));
  if (pool == nullptr || bytes < 2 * kBytesPerThread) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  pool->ParallelRanges(bytes, kBytesPerThread, [&](int64_t begin, int64_t end, int) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
  return absl::OkStatus();
}

absl::Status CpuState::Read(Stream& /*stream*/, const BufferSlice& from, void* to, int64_t bytes) {
  // Each iteration of a loop reads whether it is the last.
  if (IsCancelled()) return absl::CancelledError("");
  std::memcpy(to, Address(from), static_cast<size_t>(bytes));
  return absl::OkStatus();
}

}  // namespace hlo::cpu
