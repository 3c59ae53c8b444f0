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
  double processor_ms = 0;  // of all threads; with Instrumentation::measure_processor
  bool changed = false;
  bool skipped = false;
  int64_t instructions_before = 0;
  int64_t instructions_after = 0;
  int64_t peak_bytes = 0;  // largest resident size of the process so far
  std::string dump;        // the file of dump_directory that holds the module as this pass left it
};

// A pass by name, or by name and number: `dce#2` is the second dce of a run.
struct PassPlace {
  std::string name;    // empty: none
  int64_t number = 1;  // from 1
};
absl::StatusOr<PassPlace> ParsePassPlace(std::string_view text);

// What --print-changed shows of a pass that changed something.
enum class PrintChanged { kNo, kNames, kModule, kDiff };

struct Instrumentation {
  // The module is verified after each pass that changed it, and once at the end after passes that
  // say they did not.
  bool verify_each = true;
  // The changed flag that a pass returns is checked against a content hash. Costs time; on in
  // tests.
  bool check_changed_flag = false;
  // What a pass keeps of the analyses (analyses.h) is compared with new ones.
  bool check_analyses = false;
  VerifierOptions verifier;
  PrintOptions print = PrintOptions::HloOpt();
  bool print_before_all = false;
  bool print_after_all = false;
  PrintChanged print_changed = PrintChanged::kNo;
  bool color = false;  // of diffs
  // Of all that is printed: only what these passes did (empty: all), and what this makes of a
  // module (null: the whole text); an empty text is not printed.
  std::vector<std::string> filter_passes;
  std::function<std::string(const Module& module)> printed_text;
  std::vector<std::string> print_before;
  std::vector<std::string> print_after;
  // Numbered files under XLA's names: before the first pass and after each that changed something.
  std::string dump_directory;        // empty: none
  std::string dump_pass_regex;       // only beside passes with such a name; empty: all
  int64_t dump_number = 0;           // of the module, in the names
  bool print_after_failure = false;  // the module as the failing pass left it
  bool print_pass_names = false;
  std::vector<std::string> disabled;
  std::vector<std::string> only;  // if not empty: the others are skipped
  PassPlace start_at;             // passes before it are skipped
  PassPlace start_after;          // as start_at, this one too
  PassPlace stop_after;           // passes after it are skipped
  int64_t bisect_limit = -1;      // passes after this many are skipped; -1: none
  bool print_bisect = false;      // "BISECT: running pass (1) dce on m", as LLVM prints it
  // The first passes of the run, which have been run: the module is as they left it.
  std::vector<PassRun> done;
  bool measure_processor = false;
  // Subjects (kDebugSubjects) to write lines about. The caller writes about `parser`, and those of
  // `fusion` are remarks (PassContext).
  std::vector<std::string> debug;
  // Called as each pass that is run starts; `number` counts them from 0.
  std::function<void(const PipelineItem& pass, int64_t number)> on_start;
  // Called before and, once it is verified, after each pass that is run; an error is that of the
  // pass.
  std::function<absl::Status(const PipelineItem& pass, const Module& module)> before_pass;
  std::function<absl::Status(const PipelineItem& pass, const Module& module, bool changed)>
      after_pass;
  // Receives printed modules (default: standard error).
  std::function<void(std::string_view)> sink;
};

// What Instrumentation::debug can name, with what is written.
struct DebugSubject {
  std::string_view name;
  std::string_view what;
};
inline constexpr DebugSubject kDebugSubjects[] = {
    {"analyses", "what is known of the module after each pass"},
    {"fusion", "what the fusion passes make one kernel, or not, and why"},
    {"fix", "rounds of fix(…) and repeat(…)"},
    {"parser", "what was read, and in what time"},
    {"passes", "each pass with its time and what it changed"},
};

struct PipelineResult {
  bool changed = false;
  std::vector<PassRun> runs;
  double verify_milliseconds = 0;
  int64_t first_peak_bytes = 0;  // PassRun::peak_bytes before the first pass
  std::string first_dump;        // as PassRun::dump, of the module before the passes
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

// The table of --time-passes: wall time; and processor time where it was measured. `with_memory`:
// also how far each pass raised the peak of the memory.
std::string TimeTable(const PipelineResult& result, bool with_memory = false);

}  // namespace hlo
