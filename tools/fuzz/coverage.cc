#include "tools/fuzz/coverage.h"

#include <cstdint>
#include <cstring>

// Called by the compiler's marks at every edge; must not be marked itself.
#define HLO_UNMARKED __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined")))

namespace {

constexpr size_t kEdges = size_t{1} << 18;
uint8_t reached[kEdges];
uint8_t seen[kEdges];
uintptr_t previous_place;
size_t edge_count;

// 1, 2, 3, 4-7, 8-15, …: one bit each.
HLO_UNMARKED uint8_t CountClass(uint8_t count) {
  if (count < 4) return static_cast<uint8_t>(1 << (count - 1));
  if (count < 8) return 8;
  if (count < 16) return 16;
  if (count < 32) return 32;
  return count < 128 ? 64 : 128;
}

}  // namespace

extern "C" HLO_UNMARKED void __sanitizer_cov_trace_pc() {
  // Relative to this function: the same in every run, wherever the program is loaded.
  const uintptr_t place = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                          reinterpret_cast<uintptr_t>(&__sanitizer_cov_trace_pc);
  const uintptr_t mixed = (place * 0x9e3779b97f4a7c15ULL) >> 40;
  uint8_t& count = reached[(mixed ^ (previous_place >> 1)) % kEdges];
  if (count < 255) ++count;
  previous_place = mixed;
}

namespace hlo {

HLO_UNMARKED void StartCoverage() {
  std::memset(reached, 0, sizeof reached);
  previous_place = 0;
}

HLO_UNMARKED bool TakeNewCoverage() {
  bool fresh = false;
  for (size_t i = 0; i < kEdges; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, reached + i, 8);
    if (eight == 0) continue;
    for (size_t k = i; k < i + 8; ++k) {
      if (reached[k] == 0) continue;
      const uint8_t bit = CountClass(reached[k]);
      if ((seen[k] & bit) != 0) continue;
      if (seen[k] == 0) ++edge_count;
      seen[k] = static_cast<uint8_t>(seen[k] | bit);
      fresh = true;
    }
  }
  return fresh;
}

HLO_UNMARKED size_t CoverageCount() { return edge_count; }

}  // namespace hlo

#undef HLO_UNMARKED
