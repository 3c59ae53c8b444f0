#include "backends/cpu/arena.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <utility>

namespace hlo::cpu {
namespace {

TEST_CASE("an arena is aligned, zero, and all of it can be written", "[cpu][arena]") {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{4097}, int64_t{1} << 20, (int64_t{5} << 20) + 3}) {
    CAPTURE(bytes);
    absl::StatusOr<Arena> arena = Arena::Create(bytes);
    REQUIRE(arena.ok());
    CHECK(arena->size() >= bytes);
    const auto address = reinterpret_cast<uintptr_t>(arena->data());
    CHECK(address % Arena::kAlignment == 0);
    if (bytes >= int64_t{2} << 20) CHECK(address % (2 << 20) == 0);
    int64_t dirty = 0;
    for (int64_t i = 0; i < arena->size(); ++i) dirty += arena->data()[i] != std::byte{0};
    CHECK(dirty == 0);
    std::memset(arena->data(), 0x5a, static_cast<size_t>(arena->size()));
    CHECK(arena->data()[bytes - 1] == std::byte{0x5a});
  }
}

TEST_CASE("a request above the limit is refused with both numbers", "[cpu][arena]") {
  const absl::StatusOr<Arena> arena = Arena::Create(int64_t{3} << 20, int64_t{2} << 20);
  REQUIRE_FALSE(arena.ok());
  CHECK(arena.status().code() == absl::StatusCode::kResourceExhausted);
  const std::string message(arena.status().message());
  CHECK(message.find("3.0 MiB") != std::string::npos);
  CHECK(message.find("2.0 MiB") != std::string::npos);
  CHECK_FALSE(Arena::Create(std::numeric_limits<int64_t>::max() / 2).ok());
}

TEST_CASE("moving an arena moves its memory", "[cpu][arena]") {
  absl::StatusOr<Arena> first = Arena::Create(100);
  REQUIRE(first.ok());
  std::byte* const data = first->data();
  Arena second = *std::move(first);
  CHECK(second.data() == data);
  Arena third;
  third = std::move(second);
  CHECK(third.data() == data);
  CHECK(second.data() == nullptr);
}

}  // namespace
}  // namespace hlo::cpu
