#include "lib/support/bump_allocator.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hlo {
namespace {

TEST_CASE("blocks are aligned and apart", "[support][bump_allocator]") {
  BumpAllocator allocator;
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t i = 0; i < 3000; ++i) {
    const size_t size = i * 7 % 1500 + 1;
    auto* block = static_cast<unsigned char*>(allocator.Take(size));
    CHECK(reinterpret_cast<uintptr_t>(block) % 16 == 0);
    std::memset(block, static_cast<int>(i % 251), size);
    blocks.emplace_back(block, size);
    std::memset(allocator.TakeChars(i % 5), 0xff, i % 5);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t k = 0; k < blocks[i].second; ++k) wrong += blocks[i].first[k] != i % 251 ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a block that was given back is taken again", "[support][bump_allocator]") {
  BumpAllocator allocator;
  void* a = allocator.Take(40);
  void* b = allocator.Take(100);
  allocator.Give(a, 40);
  CHECK(allocator.Take(100) != a);
  CHECK(allocator.Take(40) == a);
  CHECK(allocator.Take(40) != b);
}

TEST_CASE("blocks larger than a chunk", "[support][bump_allocator]") {
  BumpAllocator allocator;
  std::memset(allocator.Take(size_t{5} << 20), 1, size_t{5} << 20);
  std::memset(allocator.TakeChars(size_t{3} << 20), 1, size_t{3} << 20);
  std::memset(allocator.Take(16), 1, 16);
}

}  // namespace
}  // namespace hlo
