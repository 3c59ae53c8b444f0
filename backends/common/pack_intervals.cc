#include "backends/common/pack_intervals.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "lib/support/round.h"

namespace hlo {
namespace {

// Free room below the top, adjacent pieces as one.
class Holes {
 public:
  void Add(int64_t offset, int64_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      Erase(next);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        Erase(before);
      }
    }
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }

  // Room for `size` bytes in the smallest hole that has it; -1: there is none.
  int64_t Take(int64_t size) {
    const auto fit = by_size_.lower_bound(size);
    if (fit == by_size_.end()) return -1;
    const auto [hole_size, offset] = *fit;
    Erase(by_offset_.find(offset));
    if (hole_size > size) Add(offset + size, hole_size - size);
    return offset;
  }

  // Where the hole that ends at `top` begins, which is a hole no more; else `top`.
  int64_t TakeLast(int64_t top) {
    if (by_offset_.empty()) return top;
    const auto last = std::prev(by_offset_.end());
    if (last->first + last->second != top) return top;
    const int64_t offset = last->first;
    Erase(last);
    return offset;
  }

 private:
  void Erase(std::map<int64_t, int64_t>::iterator hole) {
    for (auto [it, last] = by_size_.equal_range(hole->second); it != last; ++it) {
      if (it->second != hole->first) continue;
      by_size_.erase(it);
      break;
    }
    by_offset_.erase(hole);
  }

  std::multimap<int64_t, int64_t> by_size_;  // size -> offset
  std::map<int64_t, int64_t> by_offset_;     // offset -> size
};

int64_t PackByTime(std::vector<TimedBlock>& blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].start < blocks[b].start; });
  Holes holes;
  std::multimap<int, std::pair<int64_t, int64_t>> live;  // end -> (offset, size)
  int64_t top = 0;
  for (const size_t i : order) {
    TimedBlock& block = blocks[i];
    while (!live.empty() && live.begin()->first < block.start) {
      holes.Add(live.begin()->second.first, live.begin()->second.second);
      live.erase(live.begin());
    }
    const int64_t size = RoundUp(block.size, alignment);
    block.offset = holes.Take(size);
    if (block.offset < 0) {
      // A hole at the very end grows instead of a new block.
      block.offset = holes.TakeLast(top);
      top = block.offset + size;
    }
    live.emplace(block.end, std::pair(block.offset, size));
  }
  return top;
}

// The largest first, each in the smallest hole between those that are needed with it.
int64_t PackBySize(std::vector<TimedBlock>& blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].size > blocks[b].size; });
  std::vector<const TimedBlock*> placed;  // by offset
  int64_t top = 0;
  for (const size_t i : order) {
    TimedBlock& block = blocks[i];
    const int64_t size = RoundUp(block.size, alignment);
    int64_t end = 0, best = -1, best_hole = 0;
    for (const TimedBlock* other : placed) {
      if (other->end < block.start || block.end < other->start) continue;
      const int64_t hole = other->offset - end;
      if (hole >= size && (best < 0 || hole < best_hole)) {
        best = end;
        best_hole = hole;
      }
      end = std::max(end, other->offset + RoundUp(other->size, alignment));
    }
    block.offset = best < 0 ? end : best;
    top = std::max(top, block.offset + size);
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), &block,
        [](const TimedBlock* a, const TimedBlock* b) { return a->offset < b->offset; });
    placed.insert(after, &block);
  }
  return top;
}

// What is needed at one time: no place of the blocks takes less.
int64_t LeastSize(const std::vector<TimedBlock>& blocks, int64_t alignment) {
  std::map<int, int64_t> change;
  for (const TimedBlock& block : blocks) {
    change[block.start] += RoundUp(block.size, alignment);
    change[block.end + 1] -= RoundUp(block.size, alignment);
  }
  int64_t needed = 0, most = 0;
  for (const auto& [time, by] : change) most = std::max(most, needed += by);
  return most;
}

// Quadratic in the number of blocks: beyond, time would be seen.
constexpr size_t kMostBySize = 8192;

}  // namespace

int64_t PackIntervals(std::vector<TimedBlock>& blocks, int64_t alignment) {
  const int64_t by_time = PackByTime(blocks, alignment);
  if (blocks.size() > kMostBySize || by_time == LeastSize(blocks, alignment)) return by_time;
  std::vector<TimedBlock> other = blocks;
  const int64_t by_size = PackBySize(other, alignment);
  if (by_size >= by_time) return by_time;
  blocks = std::move(other);
  return by_size;
}

}  // namespace hlo
