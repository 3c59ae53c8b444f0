#include "backends/cpu/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "lib/support/memory_info.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kPage = 4096;

absl::Status TooLarge(int64_t bytes, int64_t limit) {
  constexpr double kMiB = 1 << 20;
  return absl::ResourceExhaustedError(
      fmt::format("the buffers of this module need {:.1f} MiB, but only {:.1f} MiB are available",
                  static_cast<double>(bytes) / kMiB, static_cast<double>(limit) / kMiB));
}

}  // namespace

absl::Status Arena::CheckRoom(int64_t bytes, int64_t limit) {
  limit = limit <= 0 ? AvailableMemory() : std::min(limit, AvailableMemory());
  return bytes > limit ? TooLarge(bytes, limit) : absl::OkStatus();
}

absl::StatusOr<Arena> Arena::Create(int64_t bytes, int64_t limit) {
  if (bytes <= 0) return Arena();
  RETURN_IF_ERROR(CheckRoom(bytes, limit));

  // Small arenas do not pay for a huge page. Larger ones map one page too many and give back the
  // ends.
  const bool huge = bytes >= kHugePage / 2;
  const int64_t size = RoundUp(bytes, huge ? kHugePage : kPage);
  const int64_t mapped = huge ? size + kHugePage : size;
  void* block = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return TooLarge(bytes, AvailableMemory());
  auto* start = static_cast<std::byte*>(block);
  if (huge) {
    const auto address = reinterpret_cast<uintptr_t>(start);
    const auto lead = static_cast<int64_t>((kHugePage - address % kHugePage) % kHugePage);
    if (lead > 0) munmap(start, static_cast<size_t>(lead));
    if (lead < kHugePage) munmap(start + lead + size, static_cast<size_t>(kHugePage - lead));
    start += lead;
    madvise(start, static_cast<size_t>(size), MADV_HUGEPAGE);
  }
  // Faults the pages in now. MADV_POPULATE_WRITE needs Linux 5.14; touching does the same, slower.
#ifdef MADV_POPULATE_WRITE
  const bool populated = madvise(start, static_cast<size_t>(size), MADV_POPULATE_WRITE) == 0;
#else
  const bool populated = false;
#endif
  if (!populated) {
    for (int64_t at = 0; at < size; at += kPage) {
      *static_cast<volatile std::byte*>(start + at) = std::byte{0};
    }
  }
  return Arena(start, size);
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_));
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace hlo::cpu
