#include "lib/support/crash_context.h"

#include <catch2/catch.hpp>
#include <string>

#include "lib/support/child_test_util.h"
#include "lib/support/crash_limit.h"
#include "lib/support/thread_pool.h"

namespace hlo {
TEST_CASE("lines are written innermost first and go with their scope", "[support][crash]") {
  const std::string text = ErrorsOf([] {
    const CrashLine outer("reading", "a.hlo");
    { const CrashLine gone("parsing"); }
    const int64_t number = -42;
    const CrashLine inner(
        [](const void* context, CrashWriter& out) {
          out.Text("  number ").Number(*static_cast<const int64_t*>(context));
          out.Text(" at ").Hex(reinterpret_cast<uint64_t>(out.info().address)).Text("\n");
        },
        &number);
    ReportCrash("bad\n", {11, reinterpret_cast<void*>(0xab0), nullptr});
  });
  CHECK(text == "bad\n  number -42 at 0xab0\n  while reading `a.hlo`\n");
  CHECK(CrashLine::Innermost() == nullptr);
}

TEST_CASE("workers of a pool have the lines of their caller", "[support][crash]") {
  const std::string text = ErrorsOf([] {
    ThreadPool pool(2);
    const CrashLine line("running pass", "dce");
    const auto work = [](void*, int64_t task, int) {
      const CrashLine own("taking task", "second");
      if (task == 1) ReportCrash("", {});
    };
    pool.RunTogether(2, work, nullptr);
  });
  CHECK(text == "  while taking task `second`\n  while running pass `dce`\n");
}

TEST_CASE("the newest action acts, and a crash of it does not repeat it", "[support][crash]") {
  const std::string text = ErrorsOf([] {
    const auto act = [](const void* name, CrashWriter& out) {
      out.Text(static_cast<const char*>(name)).Text("\n");
      out.Flush();
      ReportCrash("again\n", {});
    };
    const CrashAction first(act, "first");
    const CrashAction second(act, "second");
    { const CrashAction gone(act, "third"); }
    ReportCrash("", {});
  });
  CHECK(text == "second\n  (and it crashed again while this was written)\n");
}

TEST_CASE("a limit is reported without the action", "[support][crash]") {
  const std::string text = ErrorsOf([] {
    const CrashAction action([](const void*, CrashWriter& out) { out.Text("acted\n"); }, nullptr);
    const CrashLine line("running");
    ReportLimit("late\n");
  });
  CHECK(text == "late\n  while running\n");
}

TEST_CASE("long words and numbers at their ends are written whole", "[support][crash]") {
  const std::string word(2000, 'x');
  const std::string text = ErrorsOf([&] {
    CrashWriter out({});
    out.Text(word).Number(INT64_MIN).Text(" ").Number(0).Text(" ").Hex(UINT64_MAX);
  });
  CHECK(text == word + "-9223372036854775808 0 0xffffffffffffffff");
}

}  // namespace hlo
