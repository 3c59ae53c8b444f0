#include "lib/support/run_program.h"

#include <catch2/catch.hpp>
#include <csignal>

#include "lib/support/stopwatch.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

ProgramResult Run(const std::vector<std::string>& words, const ProgramOptions& options = {}) {
  absl::StatusOr<ProgramResult> result = RunProgram(words, options);
  REQUIRE(result.ok());
  return *std::move(result);
}

TEST_CASE("a program gives its outputs and its end", "[support][run-program]") {
  const std::vector<std::string> words = ShellCommand("echo out; echo err >&2; exit 5");
  const ProgramResult apart = Run(words, {.error_output = ErrorOutput::kApart});
  CHECK(apart.end == ChildEnd{.code = 5});
  CHECK_FALSE(apart.is_late);
  CHECK(apart.output == "out\n");
  CHECK(apart.error == "err\n");
  const ProgramResult together = Run(words, {.error_output = ErrorOutput::kWithOutput});
  CHECK(together.output == "out\nerr\n");
  CHECK(together.error.empty());
  CHECK(Run(ShellCommand("kill -KILL $$")).end == ChildEnd{true, SIGKILL});
}

TEST_CASE("large input and outputs do not wait for each other", "[support][run-program]") {
  const std::string input(3 << 20, 'x');
  const ProgramResult result =
      Run(ShellCommand("tee /dev/fd/2"), {.input = input, .error_output = ErrorOutput::kApart});
  CHECK(result.end.ok());
  CHECK(result.output == input);
  CHECK(result.error == input);
  // Nor is a program that reads nothing a matter.
  CHECK(Run({"true"}, {.input = input}).end.ok());
  CHECK(Run({"cat"}, {.input = ""}).output.empty());
}

TEST_CASE("a program that takes too long is ended, with what it wrote", "[support][run-program]") {
  const Stopwatch watch;
  const ProgramResult late =
      Run(ShellCommand("echo begun; sleep 600; echo done"), {.seconds = 0.3});
  CHECK(late.is_late);
  CHECK(late.end == ChildEnd{true, SIGKILL});
  CHECK(late.output == "begun\n");
  CHECK(watch.milliseconds() < 300'000);
  const ProgramResult soon = Run({"echo", "done"}, {.seconds = 300});
  CHECK_FALSE(soon.is_late);
  CHECK(soon.output == "done\n");
}

TEST_CASE("a program that is not there has no result", "[support][run-program]") {
  const auto result = RunProgram({"/dev/null/it's here"});
  REQUIRE_FALSE(result.ok());
  CHECK(ToStd(result.status().message()) == "cannot run `/dev/null/it's here`: Not a directory");
}

}  // namespace
}  // namespace hlo
