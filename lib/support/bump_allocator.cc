#include "lib/support/bump_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "lib/support/round.h"

namespace hlo {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 16;

size_t Aligned(size_t bytes, size_t alignment) {
  return static_cast<size_t>(RoundUp(static_cast<int64_t>(bytes), static_cast<int64_t>(alignment)));
}

}  // namespace

void BumpAllocator::Free::operator()(std::byte* chunk) const { std::free(chunk); }

void BumpAllocator::Grow(size_t bytes) {
  const bool huge = next_size_ >= kHugePage || bytes >= kHugePage;
  const size_t size = huge ? Aligned(std::max(bytes, next_size_), kHugePage)
                           : Aligned(std::max(bytes, next_size_), kAlignment);
  void* chunk = std::aligned_alloc(huge ? kHugePage : kAlignment, size);
  if (chunk == nullptr) throw std::bad_alloc();
  if (huge) madvise(chunk, size, MADV_HUGEPAGE);  // a wish: small pages work, too
  chunks_.emplace_back(static_cast<std::byte*>(chunk));
  at_ = chunks_.back().get();
  left_ = size;
  next_size_ = std::min(next_size_ * 2, kHugePage);
}

void* BumpAllocator::Take(size_t bytes) {
  bytes = Aligned(bytes, kAlignment);
  for (auto& [size, blocks] : spare_) {
    if (size != bytes || blocks.empty()) continue;
    void* block = blocks.back();
    blocks.pop_back();
    return block;
  }
  const size_t skipped = left_ % kAlignment;  // chunks end aligned
  if (bytes + skipped > left_) {
    Grow(bytes);
  } else {
    at_ += skipped;
    left_ -= skipped;
  }
  void* block = at_;
  at_ += bytes;
  left_ -= bytes;
  return block;
}

char* BumpAllocator::TakeChars(size_t bytes) {
  if (bytes > left_) Grow(bytes);
  char* block = reinterpret_cast<char*>(at_);
  at_ += bytes;
  left_ -= bytes;
  return block;
}

void BumpAllocator::Give(void* block, size_t bytes) {
  bytes = Aligned(bytes, kAlignment);
  for (auto& [size, blocks] : spare_) {
    if (size == bytes) return blocks.push_back(block);
  }
  spare_.emplace_back(bytes, std::vector<void*>{block});
}

}  // namespace hlo
