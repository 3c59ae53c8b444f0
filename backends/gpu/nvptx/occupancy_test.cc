#include "backends/gpu/nvptx/occupancy.h"

#include <catch2/catch.hpp>

namespace hlo::gpu {
namespace {

TEST_CASE("occupancy is what threads, registers, shared memory or blocks leave", "[gpu]") {
  CHECK(Occupancy("sm_90", 256, 32, 0) == 1);
  CHECK(Occupancy("sm_90a", 256, 64, 0) == 0.5);          // 16384 registers a block: 4 blocks
  CHECK(Occupancy("sm_80", 1024, 33, 0) == 0.5);          // rounded up to 40 registers: 1 block
  CHECK(Occupancy("sm_90", 32, 16, 0) == 0.5);            // 32 blocks of 32 threads
  CHECK(Occupancy("sm_80", 256, 32, 82 * 1024) == 0.25);  // 164 KiB hold two
  CHECK(Occupancy("sm_86", 256, 32, 0) == 1);             // 6 blocks of 1536 threads
  CHECK(Occupancy("sm_90", 1024, 255, 0) == 0);           // no launch
  CHECK(Occupancy("sm_12", 256, 32, 0) == 0);
}

}  // namespace
}  // namespace hlo::gpu
