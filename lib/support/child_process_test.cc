#include "lib/support/child_process.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/support/memory_file.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

ChildProcess Started(const std::vector<std::string>& words, const ChildSetup& setup = {}) {
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(words, setup);
  REQUIRE(child.ok());
  return *std::move(child);
}

ChildProcess Forked(const std::function<int()>& body, const ChildSetup& setup = {}) {
  absl::StatusOr<ChildProcess> child = ChildProcess::Fork(body, setup);
  REQUIRE(child.ok());
  return *std::move(child);
}

// Whether the process is there, be it ended and not waited for.
bool Exists(pid_t process) { return kill(process, 0) == 0; }

TEST_CASE("a child says how it ended, as often as asked", "[support][child]") {
  ChildProcess exits = Started({"sh", "-c", "exit 7"});
  CHECK(exits.Wait() == ChildEnd{.code = 7});
  CHECK(exits.Wait() == ChildEnd{.code = 7});
  CHECK(exits.Poll() == ChildEnd{.code = 7});
  CHECK(exits.Kill() == ChildEnd{.code = 7});
  CHECK_FALSE(exits.Wait().ok());
  CHECK(ToString(exits.Wait()) == "exit code 7");

  ChildProcess dies = Started({"sh", "-c", "kill -SEGV $$"}, {.leaves_core = false});
  CHECK(dies.Wait() == ChildEnd{.is_signal = true, .code = SIGSEGV});
  CHECK(ToString(dies.Wait()) == "signal 11");

  CHECK(Started({"true"}).Wait().ok());
}

TEST_CASE("a function runs in a copy of the process", "[support][child]") {
  int number = 1;
  ChildProcess child = Forked([&] { return number = 5; });
  CHECK(child.Wait() == ChildEnd{.code = 5});
  CHECK(number == 1);
  CHECK(Forked([] { return raise(SIGKILL); }).Wait() == ChildEnd{true, SIGKILL});
}

TEST_CASE("words reach a program as they are", "[support][child]") {
  const MemoryFile output;
  const std::vector<std::string> words = {"it's", "a \"b\" c", "$HOME", "*", "; exit 3", "", "\\n"};
  std::vector<std::string> command = {"printf", "%s|"};
  command.insert(command.end(), words.begin(), words.end());
  CHECK(Started(command, {.output = output.descriptor()}).Wait().ok());
  CHECK(output.Start() == Join(words, "|") + "|");
}

TEST_CASE("a program that cannot be run is an error with its name", "[support][child]") {
  const auto missing = ChildProcess::Start({"no-such-program-anywhere", "x"});
  REQUIRE_FALSE(missing.ok());
  CHECK(absl::IsNotFound(missing.status()));
  CHECK(ToStd(missing.status().message()) ==
        "cannot run `no-such-program-anywhere`: No such file or directory");
  const auto folder = ChildProcess::Start({"/"});
  REQUIRE_FALSE(folder.ok());
  CHECK(ToStd(folder.status().message()) == "cannot run `/`: Permission denied");
  const char* const words[] = {"no-such-program-anywhere", nullptr};
  CHECK(StartProgram(words, {}) == -ENOENT);
}

TEST_CASE("streams lead to files or to nowhere", "[support][child]") {
  const MemoryFile input, output, error;
  REQUIRE(input.Write("given"));
  REQUIRE(input.Rewind());
  const ChildSetup apart = {input.descriptor(), output.descriptor(), error.descriptor()};
  CHECK(Started({"sh", "-c", "cat; echo wrong >&2"}, apart).Wait().ok());
  CHECK(output.Start() == "given");
  CHECK(error.Start() == "wrong\n");
  const MemoryFile nothing;
  CHECK(Started({"cat"}, {.input = ChildSetup::kNull, .output = nothing.descriptor()}).Wait().ok());
  CHECK(nothing.Start().empty());
}

TEST_CASE("a child that is killed takes its group along", "[support][child]") {
  const MemoryFile output;
  ChildProcess child = Started({"sh", "-c", "sleep 600 & echo $!; wait"},
                               {.output = output.descriptor(), .leads_group = true});
  for (PollPause pause; output.Start().find('\n') == std::string::npos; pause.Sleep())
    REQUIRE_FALSE(child.Poll().has_value());
  const pid_t grandchild = std::stoi(output.Start());
  CHECK(Exists(grandchild));
  CHECK(child.Kill() == ChildEnd{true, SIGKILL});
  // Whoever takes in orphans has to wait for it; where nobody does, it stays as a zombie.
  std::string state = "R";
  for (PollPause pause; Exists(grandchild) && state != "Z"; pause.Sleep()) {
    const MemoryFile told;
    Started({"ps", "-o", "state=", "-p", std::to_string(grandchild)}, {.output = told.descriptor()})
        .Wait();
    state = told.Start(1);
  }
  CHECK((state == "Z" || !Exists(grandchild)));
}

TEST_CASE("who is not waited for is ended", "[support][child]") {
  const MemoryFile output;
  {
    ChildProcess child =
        Started({"sh", "-c", "echo $$; exec sleep 600"}, {.output = output.descriptor()});
    for (PollPause pause; output.Start().find('\n') == std::string::npos; pause.Sleep())
      REQUIRE_FALSE(child.Poll().has_value());
    ChildProcess moved = std::move(child);
    CHECK_FALSE(moved.Poll().has_value());
    CHECK(Exists(std::stoi(output.Start())));
  }
  CHECK_FALSE(Exists(std::stoi(output.Start())));
}

TEST_CASE("an alarm ends a program", "[support][child]") {
  CHECK(Started({"sleep", "600"}, {.alarm_seconds = 1}).Wait() == ChildEnd{true, SIGALRM});
}

TEST_CASE("what a child uses is known while it runs", "[support][child]") {
  ChildProcess child = Forked([] {
    for (std::atomic<int64_t> i = 0;; ++i) {
    }
    return 0;
  });
  for (PollPause pause; child.CpuSeconds() == 0; pause.Sleep())
    REQUIRE_FALSE(child.Poll().has_value());
  CHECK(child.ResidentBytes() > 0);
  child.Kill();
  CHECK(child.CpuSeconds() == 0);
  CHECK(child.ResidentBytes() == 0);
}

}  // namespace
}  // namespace hlo
