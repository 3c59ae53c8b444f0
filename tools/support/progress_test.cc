#include "tools/support/progress.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

namespace hlo {
namespace {

// What standard error gets while fn runs.
template <class F>
std::string StandardErrorOf(F fn) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  fn();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(pread(fileno(file), text.data(), text.size(), 0)));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("a stage longer than a second is told and cleared, a short one is not",
          "[tools][progress]") {
  const std::string text = StandardErrorOf([] {
    Progress progress(/*enabled=*/true);
    progress.Stage("parsing");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    progress.Stage("running");
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    progress.Step("pass dce");
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
  });
  CHECK(text.find("parsing") == std::string::npos);
  CHECK(text.find("running: pass dce ... 1 s") != std::string::npos);
  CHECK(text.ends_with("\r\033[K"));
}

TEST_CASE("progress that is off says nothing", "[tools][progress]") {
  CHECK(StandardErrorOf([] {
          Progress progress(/*enabled=*/false);
          progress.Stage("running");
        }).empty());
}

}  // namespace hlo
