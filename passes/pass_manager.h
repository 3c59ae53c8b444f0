// Runs a pipeline: verifies, times, prints, dumps, counts; names the pass that broke something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "passes/pipeline.h"

namespace hlo {

// One execution of one pass.
struct PassRun {
  std::string name;
  double milliseconds = 0;
  bool changed = false;
  bool skipped = false;
  int64_t instructions_before = 0;
  int64_t instructions_after = 0;
};

// What --print-changed shows of a pass that changed something.
enum class PrintChanged { kNo, kNames, kModule, kDiff };

struct Instrumentation {
  bool verify_each = true;
  // The changed flag that a pass returns is checked against a content hash. Costs time; on in
  // tests.
  bool check_changed_flag = false;
  VerifierOptions verifier;
  PrintOptions print = PrintOptions::HloOpt();
  bool print_before_all = false;
  bool print_after_all = false;
  PrintChanged print_changed = PrintChanged::kNo;
  bool color = false;  // of diffs
  std::vector<std::string> print_before;
  std::vector<std::string> print_after;
  // Numbered files under XLA's names: before the first pass and after each that changed something.
  std::string dump_directory;        // empty: none
  int64_t dump_number = 0;           // of the module, in the names
  bool print_after_failure = false;  // the module as the failing pass left it
  bool print_pass_names = false;
  std::vector<std::string> disabled;
  std::vector<std::string> only;  // if not empty: the others are skipped
  std::string start_at;           // passes before the first of this name are skipped
  std::string start_after;        // as start_at, this one too
  std::string stop_after;         // passes after the first of this name are skipped
  int64_t bisect_limit = -1;      // passes after this many are skipped; -1: none
  // Called before and, once it is verified, after each pass that is run; an error is that of the
  // pass.
  std::function<absl::Status(const PipelineItem& pass, const Module& module)> before_pass;
  std::function<absl::Status(const PipelineItem& pass, const Module& module, bool changed)>
      after_pass;
  // Receives printed modules (default: standard error).
  std::function<void(std::string_view)> sink;
};

struct PipelineResult {
  bool changed = false;
  std::vector<PassRun> runs;
  double verify_milliseconds = 0;
};

// Which pass failed, for a reproducer: running the pipeline again with `bisect_limit =
// passes_before` gives the module before it.
struct FailureReport {
  std::string pass;
  std::string pass_text;  // with its options
  int64_t passes_before = 0;
};

// Runs `pipeline` on `module`. A failure names the pass: "pass `x` failed: …" or "pass `x` broke
// the module: …", and is told to `on_failure` before the module is given up.
absl::StatusOr<PipelineResult> RunPipeline(
    const Pipeline& pipeline, Module& module, PassContext& context,
    const Instrumentation& instrumentation = {},
    const std::function<void(const FailureReport&)>& on_failure = nullptr);

// As RunPipeline for a text known to be right (named pipelines in code); a bad text is an internal
// error.
absl::StatusOr<PipelineResult> RunPipelineText(std::string_view text, Module& module,
                                               PassContext& context,
                                               const Instrumentation& instrumentation = {});

// The table of --time-passes.
std::string TimeTable(const PipelineResult& result);

}  // namespace hlo
