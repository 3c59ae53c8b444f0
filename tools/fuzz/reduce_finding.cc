#include "tools/fuzz/reduce_finding.h"

#include <fmt/format.h>

#include <chrono>

#include "lib/support/file.h"
#include "parser/parser.h"
#include "tools/reduce/reducer.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

constexpr int64_t kMostTests = 3000;

std::string_view ClassOf(std::string_view finding) { return finding.substr(0, finding.find(':')); }

// The comment lines that pinning wrote in front of the module.
std::string PinnedLines(std::string_view input) {
  std::string lines;
  while (input.starts_with("//")) {
    const size_t end = std::min(input.find('\n'), input.size() - 1) + 1;
    lines += input.substr(0, end);
    input.remove_prefix(end);
  }
  return lines;
}

}  // namespace

std::string ReduceFinding(const FuzzMode& mode, const std::string& input, std::string_view finding,
                          const std::string& path, double seconds) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(input);
  if (!module.ok()) return "";
  const std::string pinned = PinnedLines(input);
  const std::string wanted(ClassOf(finding));
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  FailureOptions options;
  options.kind = FailureKind::kCheck;
  options.check_dies = wanted == "crash";
  options.check = [&](const std::string& text) {
    return ClassOf(mode.check(pinned + text)) == wanted;
  };
  options.timeout = 20;
  absl::StatusOr<FailureTest> test =
      FailureTest::Make(options, [end] { return Clock::now() > end; });
  if (!test.ok()) return "";
  Reducer reducer(*std::move(module), *test, {path, kMostTests, 1, false});
  if (!reducer.AskFirst().shows_failure) return "";
  ReduceAll(reducer);
  return fmt::format("// RUN: hlo-fuzz --mode={} %s\n{}{}", mode.name, pinned, reducer.best_text());
}

}  // namespace hlo
