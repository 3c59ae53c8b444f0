#include "backends/cpu/cpu_state.h"

#include <cstring>

#include "lib/support/thread_pool.h"

namespace hlo::cpu {

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
  std::memcpy(to, Address(from), static_cast<size_t>(bytes));
  return absl::OkStatus();
}

}  // namespace hlo::cpu
