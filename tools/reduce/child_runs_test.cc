#include "tools/reduce/child_runs.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>

namespace hlo {
namespace {

// A number that this process and its children share.
std::atomic<int>& SharedNumber() {
  void* memory =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return *new (memory) std::atomic<int>(0);
}

// Waits until `number` is at least `least`, for some seconds; whether it came.
bool Comes(const std::atomic<int>& number, int least) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (number < least && std::chrono::steady_clock::now() < end) usleep(1000);
  return number >= least;
}

TEST_CASE("children run at the same time", "[reduce][child]") {
  std::atomic<int>& arrived = SharedNumber();
  const ChildWork wait_for_all = {[&arrived] {
                                    ++arrived;
                                    return Comes(arrived, 3) ? 7 : 1;
                                  },
                                  {}};
  const ChildResults results = RunChildren({wait_for_all, wait_for_all, wait_for_all}, {}, nullptr);
  REQUIRE(results.size() == 3);
  for (const std::optional<ChildResult>& result : results) {
    REQUIRE(result.has_value());
    CHECK(result->end == ChildResult::End::kExited);
    CHECK(result->code == 7);
  }
}

TEST_CASE("what is not needed any more is ended and has no result", "[reduce][child]") {
  std::atomic<int>& started = SharedNumber();
  const ChildWork never = {[&started] {
                             ++started;
                             while (true) pause();
                             return 0;
                           },
                           {}};
  const ChildWork soon = {[&started] { return Comes(started, 2) ? 3 : 1; }, {}};
  const ChildResults results = RunChildren(
      {never, soon, never}, {}, [](const ChildResults& so_far) { return so_far[1].has_value(); });
  CHECK_FALSE(results[0].has_value());
  REQUIRE(results[1].has_value());
  CHECK(results[1]->code == 3);
  CHECK_FALSE(results[2].has_value());
}

TEST_CASE("each child has its own log, limit and end", "[reduce][child]") {
  ChildLimits limits;
  limits.seconds = 2;
  const ChildResults results =
      RunChildren({{nullptr, {"sh", "-c", "echo out; echo err >&2; exit 5"}},
                   {nullptr, {"sh", "-c", "kill -SEGV $$"}},
                   {nullptr, {"sleep", "60"}},
                   {nullptr, {"no-such-program-anywhere"}}},
                  limits, nullptr);
  CHECK(results[0]->code == 5);
  CHECK(results[0]->log == "out\nerr\n");
  CHECK(results[1]->end == ChildResult::End::kSignalled);
  CHECK(results[2]->end == ChildResult::End::kTimedOut);
  CHECK(results[3]->code == 127);
  CHECK(results[3]->log.find("cannot run `no-such-program-anywhere`") == 0);
}

}  // namespace
}  // namespace hlo
