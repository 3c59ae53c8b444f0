// hlo-reduce: shrinks a module as far as it still shows a failure. See --help and
// tools/reduce/README.md.
#include <csignal>

#include "tools/reduce/bug_report.h"
#include "tools/reduce/extract_parts.h"
#include "tools/reduce/options.h"
#include "tools/reduce/passes_only.h"
#include "tools/reduce/reducer.h"
#include "tools/reduce/steps.h"
#include "tools/support/elided.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr int kExitInterrupted = 130;

volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

void WatchSignals() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

absl::StatusOr<std::unique_ptr<Module>> Load(const InputText& input, const ReduceOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadModule(input));
  if (module->entry() == nullptr)
    return Error("module `{}` has no entry computation", module->name());
  // Without values a script may still find its failure.
  if (options.failure.kind != FailureKind::kScript || !options.fill_elided.empty())
    RETURN_IF_ERROR(FillElided(*module, options.fill_elided).status());
  return module;
}

std::string Summary(const Reducer& reducer, int64_t first_size, const ReduceOptions& options,
                    const FailureTest& test) {
  std::string out = fmt::format("hlo-reduce: {} -> {} instructions, {} tests in {:.1f} s{}\n",
                                first_size, reducer.best_size(), reducer.tests(), reducer.seconds(),
                                interrupted != 0    ? " (interrupted)"
                                : reducer.is_done() ? " (stopped early)"
                                                    : "");
  if (options.output != "-") {
    out += fmt::format("{} shows the failure:\n  {}\n", options.output,
                       test.CommandFor(options.output));
  }
  return out;
}

// The flow from a module that shows the failure to the smallest that does.
int ReduceModule(std::unique_ptr<Module> module, const ReduceOptions& options, FailureTest& test) {
  const int64_t first_size = module->instruction_count();
  Reducer reducer(std::move(module), test,
                  {options.output, options.max_tests, options.jobs, options.shows_progress});
  const Answer first = reducer.AskFirst();
  if (!first.shows_failure && interrupted == 0) {
    return ReportToolError("hlo-reduce", Error("{} does not show the failure: expected {}, but {}",
                                               options.input, test.Wanted(), first.seen));
  }
  if (first.shows_failure) ReduceAll(reducer);
  reducer.ClearProgress();
  if (!reducer.status().ok()) return ReportToolError("hlo-reduce", reducer.status());
  if (first.shows_failure) {
    if (options.output == "-") WriteStdout(reducer.best_text());
    WriteStderr(Summary(reducer, first_size, options, test));
    if (interrupted == 0 && options.flaky > 1) {
      WriteStderr(fmt::format("it came in {} of {} runs\n",
                              test.CountHits(reducer.best_text(), options.jobs), options.flaky));
    }
    if (interrupted == 0 && !options.bug_report.empty()) {
      const absl::Status status =
          WriteBugReport(options.bug_report, reducer.best_text(), options.failure, test);
      if (!status.ok()) return ReportToolError("hlo-reduce", status);
    }
  }
  return interrupted != 0 ? kExitInterrupted : kExitOk;
}

absl::StatusOr<FailureTest> MakeTest(const ReduceOptions& options) {
  return FailureTest::Make(options.failure, [] { return interrupted != 0; });
}

// The module in front of the first pass that shows the failure is reduced, with that pass alone.
int ReducePassesOnly(const Module& module, ReduceOptions options, FailureTest& test) {
  const absl::StatusOr<BadPass> bad = FindBadPass(module, options.input, test);
  if (interrupted != 0) return kExitInterrupted;
  if (!bad.ok()) return ReportToolError("hlo-reduce", bad.status());
  WriteStderr(fmt::format("hlo-reduce: {}\n", bad->Verdict()));
  const InputText before{options.input,
                         std::make_shared<const Source>("the module before the pass", bad->before)};
  absl::StatusOr<std::unique_ptr<Module>> parsed = LoadModule(before);
  if (!parsed.ok()) return ReportError(parsed.status(), before.source.get());
  options.failure.passes = options.passes = bad->pass;
  options.input = fmt::format("the module before `{}` with this pass alone", bad->pass);
  absl::StatusOr<FailureTest> alone = MakeTest(options);
  if (!alone.ok()) return ReportError(alone.status());
  return ReduceModule(*std::move(parsed), options, *alone);
}

int Reduce(const ReduceOptions& options) {
  const absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(options.input, /*split=*/false);
  if (!inputs.ok()) return ReportToolError("hlo-reduce", inputs.status());
  absl::StatusOr<std::unique_ptr<Module>> module = Load(inputs->front(), options);
  if (!module.ok()) return ReportError(module.status(), inputs->front().source.get());
  absl::StatusOr<FailureTest> test = MakeTest(options);
  if (!test.ok()) {
    const Source pipeline("--passes", options.passes);
    return ReportError(test.status(), &pipeline);
  }
  WatchSignals();
  return options.passes_only ? ReducePassesOnly(**module, options, *test)
                             : ReduceModule(*std::move(module), options, *test);
}

int Main(int argc, char** argv) {
  Flags flags("hlo-reduce", "FAILURE [flags] FILE",
              "Shrinks an HLO module as far as it still shows a failure.");
  ReduceOptions options;
  AddReduceFlags(flags, options);
  return ToolMain(flags, argc, argv, [&] {
    // By this name of XLA a script's exit code means what it means there.
    const std::string_view name = argv[0];
    if (name.ends_with("hlo_bisect") && flags.given("test") && !flags.given("test-fails-on-bug"))
      options.test_fails_on_bug = true;
    if (const absl::Status status = CheckReduceOptions(flags, options); !status.ok()) {
      ReportToolError("hlo-reduce", status);
      return static_cast<int>(kExitUsage);
    }
    if (WantsParts(options)) return ExtractParts(options);
    return Reduce(options);
  });
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Main(argc, argv); }
