#include "backends/common/pack_intervals.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace hlo {
namespace {

// The end of the last block; fails where two that are needed at one time overlap.
int64_t CheckedTop(const std::vector<TimedBlock>& blocks, int64_t alignment) {
  int64_t top = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const TimedBlock& a = blocks[i];
    CHECK(a.offset % alignment == 0);
    top = std::max(top, a.offset + a.size);
    for (size_t j = 0; j < i; ++j) {
      const TimedBlock& b = blocks[j];
      const bool meet = a.start <= b.end && b.start <= a.end;
      const bool overlap = a.offset < b.offset + b.size && b.offset < a.offset + a.size;
      if (meet && overlap) FAIL("blocks " << j << " and " << i << " overlap");
    }
  }
  return top;
}

TEST_CASE("blocks that follow each other share memory", "[common][packing]") {
  std::vector<TimedBlock> blocks = {{0, 1, 100}, {2, 3, 100}, {3, 4, 50}};
  CHECK(PackIntervals(blocks, 64) == 192);
  CHECK(blocks[0].offset == blocks[1].offset);
}

TEST_CASE("a hole that the scan over time would leave is filled", "[common][packing]") {
  // Over time: the first block is followed by a larger one, which has to go on top of the second.
  std::vector<TimedBlock> blocks = {{0, 1, 64}, {0, 3, 64}, {2, 3, 128}};
  CHECK(PackIntervals(blocks, 64) == 192);
  CHECK(CheckedTop(blocks, 64) == 192);
}

TEST_CASE("packing never overlaps, and never takes more than everything", "[common][packing]") {
  std::mt19937 random(7);
  const auto number = [&random](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<TimedBlock> blocks;
    int64_t sum = 0;
    for (int i = number(40); i >= 0; --i) {
      const int start = number(50);
      const int64_t size = 64 * (1 + number(20));
      blocks.push_back({start, start + number(12), size});
      sum += size;
    }
    const int64_t size = PackIntervals(blocks, 64);
    CHECK(size == CheckedTop(blocks, 64));
    CHECK(size <= sum);
  }
}

}  // namespace
}  // namespace hlo
