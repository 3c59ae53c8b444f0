#include "backends/gpu/nvptx/occupancy.h"

#include <algorithm>

#include "lib/support/round.h"

namespace hlo::gpu {
namespace {

constexpr int kWarp = 32;
constexpr int kRegisters = 65536;   // of a multiprocessor, all capabilities
constexpr int kRegisterUnit = 256;  // given to warps in such pieces
constexpr int kSharedUnit = 128;    // bytes

struct Limits {
  std::string_view target;
  int threads, blocks, shared_kib;
};
constexpr Limits kLimits[] = {
    {"sm_60", 2048, 32, 64},  {"sm_70", 2048, 32, 96},  {"sm_75", 1024, 16, 64},
    {"sm_80", 2048, 32, 164}, {"sm_86", 1536, 16, 100}, {"sm_87", 1536, 16, 164},
    {"sm_89", 1536, 24, 100}, {"sm_90", 2048, 32, 228},
};

int RoundedUp(int value, int unit) { return static_cast<int>(RoundUp(value, unit)); }

}  // namespace

double Occupancy(std::string_view target, int threads_per_block, int registers_per_thread,
                 int shared_bytes_per_block) {
  for (const Limits& limits : kLimits) {
    if (target.substr(0, limits.target.size()) != limits.target || threads_per_block <= 0) continue;
    const int warps = RoundedUp(threads_per_block, kWarp) / kWarp;
    const int per_warp = RoundedUp(std::max(registers_per_thread, 1) * kWarp, kRegisterUnit);
    int blocks = std::min(limits.blocks, limits.threads / (warps * kWarp));
    blocks = std::min(blocks, kRegisters / per_warp / warps);
    if (shared_bytes_per_block > 0) {
      blocks = std::min(blocks,
                        limits.shared_kib * 1024 / RoundedUp(shared_bytes_per_block, kSharedUnit));
    }
    return static_cast<double>(blocks * warps * kWarp) / limits.threads;
  }
  return 0;
}

}  // namespace hlo::gpu
