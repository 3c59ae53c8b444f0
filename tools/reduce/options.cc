#include "tools/reduce/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "backends/registry.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/elided.h"
#include "tools/support/progress.h"
#include "tools/support/tool_support.h"

namespace hlo {

namespace {

std::string ReducePlatformMistake(const std::string& name) {
  return name.empty() ? "needs a value" : MistakeOf(FindBackend(name).status());
}

FlagValues ReduceTolerance() {
  return FlagValues::Passing("a number that is not negative", [](const std::string& text) {
    const double value = ReadNumber<double>(text).value_or(-1);
    return value >= 0 && std::isfinite(value);
  });
}

}  // namespace

void AddReduceFlags(Flags& flags, ReduceOptions& o) {
  using V = FlagValues;
  flags.Example("hlo-reduce f.hlo --mismatch --passes=algsimp", "results that passes change");
  flags.Example("hlo-reduce f.hlo --mismatch --platform=cpu", "results unlike the interpreter's");
  flags.Example("hlo-reduce f.hlo --crash --passes=a,b -o g.hlo", "a crash of passes");
  flags.Example("hlo-reduce f.hlo --mismatch --passes=@p --passes-only", "which of many passes");
  flags.Example("hlo-reduce f.hlo --test=./interesting.sh", "whatever the program finds");
  flags.Group("The failure (one of these)");
  flags.Add("crash", &o.crash, "a signal or an internal error; other crashes do not count");
  flags.Add("error", &o.error, V::Regex(), "REGEX", "an error with a message that matches");
  flags.Add(
      "mismatch", &o.mismatch,
      "results differ: before and after the passes, or the platform's from the interpreter's");
  flags.Add("hang", &o.hang, "takes longer than --timeout");
  flags.Add("nan", &o.nan, "an output that holds a NaN, of a run on --platform (interpreter)");
  flags.Add("slow-compile", &o.slow_compile, V::Between(1e-3, 1e6), "SECONDS",
            "compiling for --platform (cpu) takes longer");
  flags.Add("memory", &o.memory, V::Some(), "BYTES",
            "a run on --platform (cpu) does not do with so much, e.g. 512M");
  flags.Add("test", &o.test, V::Some(), "COMMAND",
            "a program, run as `COMMAND FILE` (or with FILE for {}), exit code 0 when FILE shows "
            "the failure");
  flags.Add("test-fails-on-bug", &o.test_fails_on_bug, "with any other exit code instead");
  flags.Group("What is run (in a process of its own, but for --test)");
  flags.Add("passes", &o.passes, V::Any(), "PIPELINE", "these passes");
  flags.AddWith({"passes"}, "passes-only", &o.passes_only,
                "find the first pass, and its first rewrite, that shows the failure; then reduce");
  flags.Note(std::string(32, ' ') + "the module in front of that pass, with that pass alone");
  flags.Add("platform", &o.platform, V::Passing(ReducePlatformMistake), "NAME",
            "compile for it and run; with --passes, after the passes");
  flags.Add("seed", &o.seed, V::From(0), "N", "of the inputs (default 42)");
  flags.Add("seeds", &o.seeds, V::Between(1, 1e6), "N",
            "run with so many inputs, seeds counting up (default 1)");
  flags.Add("abs", &o.abs, ReduceTolerance(), "X", "absolute tolerance of --mismatch");
  flags.Add("rel", &o.rel, ReduceTolerance(), "X", "relative tolerance");
  flags.Add("ulps", &o.ulps, ReduceTolerance(), "N", "tolerance in units in the last place");
  flags.Add("fill-elided", &o.fill_elided, FillElidedValues(), "HOW",
            "zeros, ones, xla or random:SEED for constants whose values are left out");
  flags.Group("The search");
  flags.Add("output,o", &o.output, V::Some(), "FILE",
            "the smallest module so far, at any time (default FILE.reduced.hlo)");
  flags.Add(
      "timeout", &o.timeout, V::Between(1e-3, 1e6), "SEC",
      "for one test (default 60, and 10 times the first); longer ones do not count but for --hang");
  flags.Add(
      "flaky", &o.flaky, V::Between(1, 1e6), "N",
      "for a failure that comes and goes: a module shows it if any of N runs does; in the end");
  flags.Note(std::string(32, ' ') +
             "the smallest one is run N times, and how often it came is said");
  flags.Add("max-tests", &o.max_tests, V::From(0), "N", "stop after so many");
  flags.Add("jobs,j", &o.jobs, V::Between(0, 256), "N",
            "tests at the same time (default: one for each processor); the result is the same");
  flags.Add("bug-report", &o.bug_report, V::Some(), "DIR",
            "a folder to send: the module, its inputs and results, the command, this machine");
  flags.Add("progress", &o.progress, V::Words({"auto", "always", "never"}), "WHEN",
            "auto, always or never");
  flags.Group("Parts instead of a search");
  flags.Add("extract", &o.extract, V::Some(), "NAME",
            "an instruction as a module (to --output); its operands become parameters,");
  flags.Add("height", &o.height, V::From(0).With({"extract", "extract-each-fusion"}), "N",
            "but for those N steps up, which come along (default: 0)");
  flags.Add("users", &o.users, V::From(0).With({"extract"}), "N",
            "and who uses it, N steps down; the results of these are the module's (default: 0)");
  flags.Add("extract-each-fusion", &o.extract_each_fusion,
            "each fusion as a module, in the folder --output (default FILE.fusions)");
  flags.Group("Exit codes");
  flags.Note("0 reduced, 1 bad input or it does not show the failure, 2 usage, 70 internal error,");
  flags.Note("130 interrupted (the output holds the best so far)");
}

namespace {

// What FlagValues has seen to be a number.
void TakeTolerance(const std::string& text, double& out, bool& given) {
  if (text.empty()) return;
  out = std::strtod(text.c_str(), nullptr);
  given = true;
}

// What hlo-run, which stands beside this program, is asked of a file, and the exit code with which
// it shows the failure. For failures that hlo-run knows.
struct Question {
  std::string flags;
  int exit_code;
};
std::optional<Question> QuestionOf(const ReduceOptions& o) {
  if (o.nan) return Question{"--fail-on-nan --print=none", kExitMismatch};
  if (o.slow_compile > 0) {
    return Question{fmt::format("--emit=thunks --time-limit={:.6g}", o.slow_compile),
                    kExitTimeLimit};
  }
  if (!o.memory.empty())
    return Question{"--print=none --memory-limit=" + ShellQuoted(o.memory), kExitRunFailure};
  return std::nullopt;
}

std::vector<std::string> ScriptOf(const Question& question, const ReduceOptions& o) {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string platform = !o.platform.empty() ? o.platform : o.nan ? "interpreter" : "cpu";
  std::string command =
      fmt::format("{} \"$1\" --platform={} --seed={} {}",
                  ShellQuoted(self.parent_path() / "hlo-run"), platform, o.seed, question.flags);
  if (!o.passes.empty()) command += " --passes=" + ShellQuoted(o.passes);
  if (!o.fill_elided.empty()) command += " --fill-elided=" + ShellQuoted(o.fill_elided);
  return {"sh", "-c", fmt::format("{} > /dev/null 2>&1; test $? = {}", command, question.exit_code),
          "sh"};
}

absl::Status CheckFailureFlags(const Flags& flags, ReduceOptions& o) {
  const bool by_error = flags.given("error"), by_test = flags.given("test");
  const std::optional<Question> question = QuestionOf(o);
  const int kinds = int{o.crash} + int{o.mismatch} + int{o.hang} + int{by_error} + int{by_test} +
                    int{o.nan} + int{o.slow_compile > 0} + int{!o.memory.empty()};
  if (kinds != 1) {
    return Error(
        "{} of the failures `--crash`, `--error`, `--mismatch`, `--hang`, `--nan`, "
        "`--slow-compile`, `--memory` and `--test` {}",
        kinds == 0 ? "none" : "several",
        kinds == 0 ? "is chosen; say what to look for" : "are chosen; choose one");
  }
  if (by_test) {
    if (!o.passes.empty() || !o.platform.empty())
      return Error("`--test` runs a program of yours; `--passes` and `--platform` belong into it");
    for (std::string_view word : Split(o.test, ' ')) {
      if (!word.empty()) o.failure.script.emplace_back(word);
    }
    if (o.failure.script.empty()) return Error("`--test` expects a program");
  } else if (question) {
    o.failure.script = ScriptOf(*question, o);
  } else if (o.passes.empty() && o.platform.empty()) {
    return Error("nothing to run: give `--passes=` or `--platform=`");
  }
  if (o.passes_only && question) {
    return Error(
        "`--passes-only` goes with `--crash`, `--error`, `--mismatch` or `--hang`; hlo-run, which "
        "is asked here, runs all passes");
  }
  if (o.test_fails_on_bug && !by_test) return Error("`--test-fails-on-bug` needs `--test`");
  o.failure.kind = o.crash      ? FailureKind::kCrash
                   : o.mismatch ? FailureKind::kMismatch
                   : o.hang     ? FailureKind::kHang
                   : by_error   ? FailureKind::kError
                                : FailureKind::kScript;
  return absl::OkStatus();
}

absl::Status CheckTolerances(ReduceOptions& o) {
  Tolerance tolerance;
  double ulps = 0;
  bool given = false;
  TakeTolerance(o.abs, tolerance.abs, given);
  TakeTolerance(o.rel, tolerance.rel, given);
  TakeTolerance(o.ulps, ulps, given);
  tolerance.ulps = static_cast<int64_t>(ulps);
  if (!given) return absl::OkStatus();
  if (!o.mismatch) return Error("a tolerance is given, but nothing to compare; add `--mismatch`");
  o.failure.tolerance = tolerance;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReduceOptions(const Flags& flags, ReduceOptions& o) {
  const std::vector<std::string>& words = flags.positional();
  if (words.empty()) return Error("no input file; see --help");
  if (words.size() > 1) return Error("one input file is expected, found also `{}`", words[1]);
  o.input = words[0];
  if (!o.extract.empty() && o.extract_each_fusion)
    return Error("`--extract` and `--extract-each-fusion` exclude each other");
  if (!o.extract.empty() || o.extract_each_fusion) {
    if (o.output.empty()) o.output = o.extract.empty() ? o.input + ".fusions" : "-";
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckFailureFlags(flags, o));
  RETURN_IF_ERROR(CheckTolerances(o));
  if (!o.platform.empty()) {
    ASSIGN_OR_RETURN(const Backend* backend, FindBackend(o.platform));
    o.platform = backend->name();
  }
  if (o.jobs == 0) o.jobs = std::max<int64_t>(1, std::thread::hardware_concurrency());
  o.shows_progress = ShowsProgress(o.progress);
  if (!o.bug_report.empty()) {
    RETURN_IF_ERROR(AddPrefix(MakeFolder(o.bug_report), "`--bug-report`"));
    RETURN_IF_ERROR(AddPrefix(CheckWritable(o.bug_report + "/README.md"), "`--bug-report`"));
  }
  if (o.output.empty()) o.output = o.input == "-" ? "-" : o.input + ".reduced.hlo";
  o.failure.regex = o.error;
  o.failure.script_fails_on_bug = o.test_fails_on_bug;
  o.failure.passes = o.passes;
  o.failure.platform = o.platform;
  o.failure.seed = static_cast<uint64_t>(o.seed);
  o.failure.seeds = o.seeds;
  o.failure.timeout = o.timeout;
  o.failure.tries = o.flaky;
  o.failure.learns_timeout = !flags.given("timeout");
  return absl::OkStatus();
}

}  // namespace hlo
