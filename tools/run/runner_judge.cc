// What came out: reports, and comparisons with what was expected, a reference or another run.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/run/compare_outputs.h"
#include "tools/run/reference_command.h"
#include "tools/run/runner.h"
#include "tools/run/tolerances.h"
#include "tools/run/write_results.h"
#include "tools/support/crash_reproducer.h"

namespace hlo {

absl::Status Runner::AskReferenceCommand(Shape result_shape, Expectation& expected) {
  if (options_.reference_command.empty()) return absl::OkStatus();
  progress_.Stage("running " + options_.reference_command);
  ASSIGN_OR_RETURN(ExpectedValues values,
                   RunReferenceCommand(options_.reference_command, path_, given_,
                                       result_shape.WithoutDynamic()));
  expected.values.push_back(std::move(values.value));
  expected.ignored = std::move(values.ignored);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Literal>> Runner::RunReference(Backend& backend,
                                                          std::unique_ptr<Module> module,
                                                          const ArgumentsByDevice& arguments) {
  progress_.Stage(fmt::format("running on {}", backend.name()));
  CompileOptions compile = CompilerOptions(nullptr);
  compile.run_passes = options_.reference_passes && options_.run_passes;
  compile.start.reset();  // the reference is what nobody has edited
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   CompileOnce(backend, std::move(module), compile));
  const CrashLine line("running on platform", backend.name());
  running_ = true;
  absl::StatusOr<std::vector<Literal>> results;
  const ArgumentsByDevice& own = spmd_ ? spmd_->arguments() : arguments;
  const DeviceMesh mesh = outer_mesh();
  if (buffers_) {
    ASSIGN_OR_RETURN(LoopResult run, RunOnBuffers(*executable, own, mesh, loop_));
    results = std::move(run.values);
  } else {
    results = RunDevices(*executable, own, mesh);
  }
  running_ = !results.ok();
  return results;
}

void Runner::Compare(const Expectation& expected, const std::vector<OutputRule>& rules) {
  progress_.Stage("comparing");
  Judgement judgement = Judge(options_, expected, outer_mesh(), results_, rules);
  progress_.Stage("");
  report_.comparisons = std::move(judgement.outputs);
  if (!judgement.ok) exit_code_ = kExitMismatch;
  WriteStdout(judgement.report);
  // Values that somebody wrote down may be NaN; two platforms that make nothing else
  // show nothing.
  if (judgement.only_nans && !options_.reference.empty()) {
    if (IsFirst())
      WriteStderr(
          "hlo-run: warning: every value is NaN: nothing was compared; other inputs or "
          "another --seed may tell more\n");
    exit_code_ = kExitUnsupported;
  }
}

absl::Status Runner::CheckDeterminism(Backend& backend, const Executable& executable,
                                      std::unique_ptr<Module> copy,
                                      const ArgumentsByDevice& arguments) {
  CompileOptions compile = CompilerOptions(nullptr);
  compile.threads = 1;
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> single,
                   CompileOnce(backend, std::move(copy), compile));
  for (int64_t run = 2; run <= options_.check_determinism; ++run) {
    progress_.Stage(fmt::format("run {} of {}", run, options_.check_determinism));
    const bool is_last = run == options_.check_determinism;
    running_ = true;
    ASSIGN_OR_RETURN(const std::vector<Literal> results,
                     RunOnce(is_last ? *single : executable, arguments));
    running_ = false;
    progress_.Stage("");
    const auto [now, before] =
        std::mismatch(results.begin(), results.end(), results_.begin(), results_.end());
    if (now == results.end()) continue;
    const int64_t device = now - results.begin();
    WriteStdout(fmt::format("{}run {}{} gives other bits\n{}", DeviceHeading(outer_mesh(), device),
                            run, is_last ? ", with one thread," : "",
                            CompareOutputs(*now, *before, Tolerance()).report));
    exit_code_ = kExitMismatch;
    return absl::OkStatus();
  }
  WriteStdout(fmt::format("{} runs agree in every bit, the last with one thread\n",
                          options_.check_determinism));
  return absl::OkStatus();
}

absl::Status Runner::Report(const Executable& executable, const RunTimes* run) {
  const CompileStats& stats = executable.stats();
  report_.verify_ms = extra_verify_ms_ + stats.verify_ms;
  report_.passes_ms = extra_passes_ms_ + stats.passes_ms;
  report_.codegen_ms = stats.codegen_ms;
  report_.codegen = stats.codegen;
  report_.load_ms = stats.load_ms;
  report_.peak_bytes = stats.peak_bytes;
  report_.threads = options_.threads;
  if (report_.threads == 0) {
    report_.threads =
        executable.stats().codegen_ms > 0 ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  }
  progress_.Stage("");
  if (options_.time || (options_.bench && options_.json.empty() && run != nullptr))
    WriteStderr(options_.csv ? ToCsv(report_) : ToTable(report_));
  if (!baseline_ || run == nullptr) return absl::OkStatus();
  const BaselineVerdict verdict = CompareWith(*baseline_, report_);
  WriteStderr(verdict.text);
  const bool has_limit = options_.fail_if_slower >= 0;
  if (has_limit && verdict.run_ratio > 1 + options_.fail_if_slower / 100)
    exit_code_ = kExitMismatch;
  return absl::OkStatus();
}

absl::Status Runner::WriteOutputs() {
  if (options_.fail_on_nan) {
    const std::string nans = OutputsWithNan(results_, outer_mesh());
    WriteStderr(nans);
    if (!nans.empty()) exit_code_ = kExitMismatch;
  }
  return WriteResults(options_, results_, outfeed_, outer_mesh());
}

absl::Status Runner::WriteJson() const {
  return options_.json.empty() ? absl::OkStatus() : WriteFile(options_.json, ToJson(report_));
}

}  // namespace hlo
