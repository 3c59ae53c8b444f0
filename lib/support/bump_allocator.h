// Memory for many objects that mostly live until the end: cut from growing chunks, large ones from
// huge pages where the system has them (a page fault per 4 KB would cost as much as parsing does).
// Blocks that are given back are taken again by requests of the same size.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace hlo {

class BumpAllocator {
 public:
  BumpAllocator() = default;
  BumpAllocator(const BumpAllocator&) = delete;
  BumpAllocator& operator=(const BumpAllocator&) = delete;

  // Uninitialised memory, aligned for any object of up to 16 bytes' alignment.
  void* Take(size_t bytes);
  // As Take, aligned to 1 byte: for characters.
  char* TakeChars(size_t bytes);
  // Gives back what Take(bytes) gave.
  void Give(void* block, size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* chunk) const;
  };
  void Grow(size_t bytes);

  std::vector<std::unique_ptr<std::byte[], Free>> chunks_;
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  size_t next_size_ = size_t{4} << 10;
  std::vector<std::pair<size_t, std::vector<void*>>> spare_;  // by size
};

}  // namespace hlo
