#include "lib/support/time_trace.h"

#include <catch2/catch.hpp>
#include <thread>

namespace hlo {
namespace {

TEST_CASE("spans are kept only while they are wanted") {
  { const TimeSpan early("early"); }
  StartTimeTrace();
  {
    const TimeSpan outer("pass", "dce");
    const TimeSpan inner("verify");
    std::thread([] { const TimeSpan other("llvm"); }).join();
  }
  const std::vector<TimedSpan> spans = TakeTimeTrace();
  { const TimeSpan late("late"); }
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].kind == "llvm");
  CHECK(spans[0].thread == 1);
  CHECK(spans[1].kind == "verify");
  CHECK(spans[2].name == "dce");
  CHECK(spans[2].thread == 0);
  CHECK(spans[2].start <= spans[1].start);
  CHECK(spans[2].length >= spans[1].length);
  StartTimeTrace();
  CHECK(TakeTimeTrace().empty());
}

TEST_CASE("time of a kind counts what overlaps once") {
  const std::vector<TimedSpan> spans = {
      {"llvm", "", 0, 1, 4}, {"llvm", "", 1, 2, 1}, {"llvm", "", 1, 4, 3}, {"pass", "", 0, 0, 50}};
  CHECK(TimeOf(spans, "llvm") == Approx(6));
  CHECK(TimeOf(spans, "link") == 0);
}

TEST_CASE("a trace has a track for each thread") {
  const std::string text = TimeTraceText({{{"pass", "a\"b", 0, 1, 2}, {"llvm", "", 3, 1, 2}}}, "p");
  CHECK(text.find(R"("name":"worker 3")") != std::string::npos);
  CHECK(text.find(R"("name":"a\"b","cat":"pass","ts":1000.000,"dur":2000.000)") !=
        std::string::npos);
  CHECK(text.find(R"("name":"llvm","cat":"llvm")") != std::string::npos);
}

}  // namespace
}  // namespace hlo
