#include "tools/opt/options.h"

#include <algorithm>

#include "lib/analysis/print.h"
#include "lib/support/strings.h"
#include "passes/pass_manager.h"
#include "tools/opt/emit.h"
#include "tools/opt/instrument.h"
#include "tools/opt/lists.h"
#include "tools/opt/node_colors.h"
#include "tools/opt/plain_module.h"
#include "tools/opt/reports.h"
#include "tools/support/elided.h"
#include "tools/support/gpu_target.h"
#include "tools/support/pass_names.h"

namespace hlo {
namespace {

using V = FlagValues;

std::vector<std::string_view> TableForms() { return {"table", "json", "true", "false"}; }

std::vector<std::string_view> DebugSubjects() {
  std::vector<std::string_view> names;
  for (const DebugSubject& subject : kDebugSubjects) names.push_back(subject.name);
  return names;
}

std::vector<std::string_view> AnalysisNames() {
  std::vector<std::string_view> names;
  for (const AnalysisPrinter& printer : AllAnalysisPrinters()) names.push_back(printer.name);
  return names;
}

std::string AnalysisHelp() { return Join(AnalysisNames(), ", "); }

std::string PlatformMistake(const std::string& name) {
  if (FindOptPlatform(name) != nullptr) return "";
  return FlagValues::Words(OptPlatformNames()).Mistake(name);
}

std::string RemarksMistake(const std::string& kinds) {
  return MistakeOf(RemarkFilter::Parse(kinds).status());
}

std::string PassPlaceMistake(const std::string& place) {
  const absl::StatusOr<PassPlace> read = ParsePassPlace(place);
  return MistakeOf(read.ok() ? CheckPassName(read->name) : read.status());
}

std::string DebugCounterMistake(const std::string& counter) {
  const absl::StatusOr<RewriteRange> range = ParseRewriteRange(counter);
  return MistakeOf(range.ok() ? CheckPassName(range->pass) : range.status());
}

std::string VerbosityMistake(const std::string& level) {
  const bool is_number =
      !level.empty() && level.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "" : fmt::format("expects a number, found `{}`", level);
}

void AddCommonFlags(Flags& flags, OptOptions& o) {
  flags.Group("Common");
  flags.Add("output,o", &o.output, V::Some(), "FILE",
            "write there, whole or not at all (default -); constants in full");
  flags.Add("output-dir", &o.output_dir, V::Some(), "DIR", "one file of the same name per input");
  flags.Add("passes", &o.passes, V::Any(), "PIPELINE",
            "name,name{option=value},fix(a,b),repeat<3>(a),simplify,default<cpu>,@FILE");
  flags.Add("list-passes", &o.list_passes,
            "the names of all passes on one line; --list-ops, --list-types");
  flags.Add("print-analysis", &o.print_analysis, V::ListOf(AnalysisNames()), "NAMES",
            "not the result but what is known of it: " + AnalysisHelp());
  flags.Add("print-passes", &o.print_passes, V::Regex(), "[.|REGEX]",
            "passes and pipelines with summaries and options");
  flags.Add("converge", &o.converge);
  flags.Add("O", &o.level, V::Between(0, 3), "[2|0..3]");
  flags.Add("print-pipeline", &o.print_pipeline, "what --passes stands for, and no more");
  flags.Add("self-test", &o.self_test);
  flags.Add("list-ops", &o.list_ops);
  flags.Add("list-types", &o.list_types);
  flags.Add("list-print-options", &o.list_print_options);
  flags.Add("split-input-file", &o.split, "cut inputs at `// -----` lines, treat each part alone");
  flags.Add("output-separator", &o.separator, V::Any(), "TEXT",
            "line between results (default: none)");
  flags.Add("disable-output,no-output", &o.disable_output, "do not print the result");
  flags.Add("platform", &o.platform, V::Passing(PlatformMistake), "P",
            "transforms (default), cpu, gpu, interpreter");
  flags.Add("stage", &o.stage, V::Some(), "S",
            "without --passes: how far to compile; --list-stages");
  flags.Add("list-stages", &o.list_stages);
  flags.Add("target", &o.gpu_target, GpuTargetValues(), "NAME",
            "GPU for stages (default sm_90) and passes (default sm_80): sm_90a, h100_sxm");
  flags.Add("list-targets", &o.list_targets);
  flags.Add("cpu-features", &o.cpu_features, V::Words({"native", "amx", "avx512", "avx2", "sse"}),
            "NAME");
  flags.Add("xla-gpu-target-config-filename", &o.gpu_target_config, V::Some(), "FILE");
  flags.Add(
      "emit", &o.emit, V::Words(EmitWords()), "FORMAT",
      "hlo (default), pb, pbtxt, json; pictures: dot, html, svg, by --color-by=time and others");
  flags.Add("color-by", &o.color_by, V::Words(NodeColors::Words()), "WHAT",
            "colours of pictures: kind (default), time, bytes, flops, sharding");
  flags.Add("emit-proto", &o.emit_proto);
  flags.Add("format,input-format", &o.format, V::Words({"hlo", "txt", "pb", "pbtxt"}), "FORMAT");
  flags.Add("threads,j", &o.threads, V::Between(0, 1024), "N",
            "threads for passes that can use them (default: all; results are the same)");
}

void AddWatchingFlags(Flags& flags, OptOptions& o) {
  flags.Group("Watching passes (on standard error)");
  flags.Add("print-before", &o.print_before, V::Names(CheckPassName), "NAMES",
            "the module before these passes; --print-before-all");
  flags.Add("print-before-all", &o.print_before_all);
  flags.Add("print-after", &o.print_after, V::Names(CheckPassName), "NAMES",
            "the module after these passes; --print-after-all");
  flags.Add("print-after-all", &o.print_after_all);
  flags.Add("print-changed", &o.print_changed,
            V::Words({"diff", "cdiff", "module", "quiet", "true", "false"}), "[diff|HOW]",
            "what each pass changed: diff (default), cdiff, module, quiet");
  flags.Add("print-ir-after-failure", &o.print_after_failure);
  flags.Add("filter-passes", &o.filter_passes, V::Names(CheckPassName), "NAMES",
            "of all that: only what these passes did");
  flags.Add("filter-print-ops", &o.filter_ops, V::Regex(), "REGEX",
            "and only instructions of such a name or opcode; --filter-print-computations,");
  flags.Note(std::string(32, ' ') + "--filter-modules (of --ir-dump-directory, too): such names");
  flags.Add("filter-print-computations,filter-print-funcs", &o.filter_computations, V::Regex(),
            "REGEX");
  flags.Add("filter-modules,xla-dump-hlo-module-re", &o.filter_modules, V::Regex(), "REGEX");
  flags.Add("pass-summary", &o.pass_summary,
            "a table: what each pass changed, how many instructions, fusions and bytes");
  flags.Add(
      "print-pass-names", &o.print_pass_names,
      "each pass as it starts; more: --debug-only=passes,fix,analyses,fusion,parser (-vv: all)");
  flags.Add("time-passes", &o.time_passes, V::Words(TableForms()), "[table|FORM]",
            "wall and processor time as a table or json; --track-memory adds memory");
  flags.Add("track-memory", &o.track_memory);
  flags.Add("time-trace", &o.time_trace, V::Some(), "FILE",
            "what each thread did when (chrome://tracing, Perfetto)");
  flags.Add("debug-only", &o.debug_only, V::ListOf(DebugSubjects()), "SUBJECTS");
  flags.Add("stats", &o.stats, V::Words(TableForms()), "[table|FORM]",
            "what the passes counted, table or json");
  flags.Add("stats-json", &o.stats_json);
  flags.Add("remarks", &o.remarks, V::Passing(RemarksMistake), "[all|KINDS]",
            "what they decided: passed,missed,analysis; KINDS:TEXT filters; --remarks-format=yaml");
  flags.Add("remarks-format", &o.remarks_format, V::Words({"text", "yaml"}).With({"remarks"}),
            "FORM");
  flags.Add("trace-rules", &o.trace_rules, "each rewrite: rule, before, after");
  flags.Add("json", &o.json, V::Some(), "FILE", "times, counts and remarks for machines");
  flags.Add("ir-dump-directory", &o.dump_directory, V::Some(), "DIR",
            "the module between passes in numbered files, named as XLA names them");
}

void AddDebuggingFlags(Flags& flags, OptOptions& o) {
  flags.Group("Finding bugs");
  flags.Add("verify-only", &o.verify_only, "only check the input, say everything that is wrong");
  flags.Add("max-errors", &o.max_errors, V::From(1), "N", "messages of one check (default 10)");
  flags.Add("verify-input", &o.verify_input,
            "check the module when it is read (default on); without, anything may happen later");
  flags.Add("verify-each", &o.verify_each,
            "check the module after passes that changed it (default on)");
  flags.Add("update-checks", &o.update_checks,
            "write RUN and CHECK lines into the files, from these flags or their RUN lines");
  flags.Add("verify-roundtrip", &o.verify_roundtrip, "the printed result must read back equal");
  flags.Add(
      "check-changed-flag,verify-change-flag,xla-unsupported-crash-on-hlo-pass-silent-hlo-change",
      &o.check_changed_flag, "passes must tell the truth about having changed something");
  flags.Add("check-analyses", &o.check_analyses);
  flags.Add("check-equivalence", &o.check_equivalence, V::From(1), "[1|N]",
            "run it on the interpreter after each pass, with N inputs from --seed=N (else 3); "
            "loops up to --max-loop-iterations");
  flags.Add("seed", &o.seed, V::From(0).With({"check-equivalence"}), "N");
  flags.Add("max-loop-iterations", &o.max_loop_iterations, V::From(0).With({"check-equivalence"}),
            "N");
  flags.Add(
      "verify-diagnostics", &o.verify_diagnostics,
      "what `// expected-error@+1 {{text}}` announces must come (-warning, -note, -error-re)");
  flags.Add("opt-bisect-limit,bisect-limit", &o.bisect_limit, V::From(-1), "N",
            "run only the first N passes; --rewrite-limit=N: of rewrites");
  flags.Add("rewrite-limit", &o.rewrite_limit, V::From(-1), "N");
  flags.Add("debug-counter", &o.debug_counter, V::Passing(DebugCounterMistake), "PASS:FIRST-LAST");
  flags.Add("bisect", &o.bisect, V::Some(), "CMD",
            "find the first pass, and its first rewrite, after which CMD FILE fails");
  flags.Add("disable-passes,disable-pass", &o.disable, V::Names(CheckPassName), "NAMES",
            "skip these passes; --only-passes=NAMES skips the others");
  flags.Add("xla-disable-hlo-passes", &o.xla_disable, V::Any(), "NAMES");
  flags.Add("only-passes,xla-enable-hlo-passes-only", &o.only, V::Names(CheckPassName), "NAMES");
  flags.Add("disable-rule,disable-rules", &o.disable_rules, V::Some(), "NAMES",
            "leave these rules out");
  flags.Add("start-at,xla-run-hlo-passes-starting-from", &o.start_at, V::Passing(PassPlaceMistake),
            "NAME", "skip the passes before it (NAME#2: the second); --stop-after: those after");
  flags.Add("start-after", &o.start_after, V::Passing(PassPlaceMistake), "NAME");
  flags.Add("stop-after", &o.stop_after, V::Passing(PassPlaceMistake), "NAME");
  flags.Add("xla-disable-all-hlo-passes", &o.disable_all);
  flags.Add("reproducer", &o.reproducer,
            "on failure write a file that `hlo-opt FILE` repeats it with (default on)");
  flags.Add("reproduce-before", &o.reproduce_before, V::From(0).With({"reproduce-to"}));
  flags.Add("reproduce-to", &o.reproduce_to, V::Some().With({"reproduce-before"}), "FILE");
  flags.Add("time-limit,compile-timeout", &o.time_limit, V::Between(1e-3, 1e9), "SECONDS",
            "end with exit code 6 after so long");
  flags.Add("expect-equal", &o.expect_equal, V::Some(), "FILE",
            "the result must be this module, names and layouts aside (else 3)");
  flags.AddWith({"expect-equal"}, "expect-equal-layouts", &o.expect_equal_layouts,
                "layouts must be equal, too");
  flags.Add("xla-dump-to", &o.xla_dump_to, V::Some(), "DIR");
  flags.Add("xla-dump-hlo-pass-re", &o.xla_dump_pass_re, V::Regex(), "REGEX");
  flags.Add("fill-elided", &o.fill_elided, FillElidedValues(), "HOW",
            "values for constants `{...}`: random:SEED, zeros, ones, xla (as XLA's parser)");
}

void AddPrintingFlags(Flags& flags, OptOptions& o) {
  flags.Group("Printing");
  o.print.AddTo(flags);
  flags.Add("canonicalize-names", &o.canonicalize_names,
            "as --print-style=canonical: instructions tmp_0, tmp_1, ... in their order");
  flags.Add("strip", &o.strip, V::ListOf(StrippableParts()), "PART,...",
            "print without " + Join(StrippableParts(), ", "));
  flags.Add("progress", &o.progress, V::Words({"auto", "always", "never"}), "WHEN",
            "progress line after one second: auto, always, never");
  flags.Add("color", &o.color, V::Words({"auto", "always", "never"}), "WHEN",
            "of diffs: auto, always, never; NO_COLOR is respected");
  flags.Add("v,verbose", &o.verbosity, V::Passing(VerbosityMistake), "[1|N]");
  flags.Add("vmodule", &o.vmodule, V::Any(), "LIST");
  flags.Add("logtostderr", &o.logtostderr);
}

}  // namespace

void AddOptFlags(Flags& flags, OptOptions& o) {
  flags.Example("hlo-opt f.hlo --passes=call-inliner,dce", "inline calls, drop dead code, print");
  flags.Example("hlo-opt f.hlo --passes='fix(constant_folding,cse)' -o g.hlo",
                "until nothing changes");
  AddCommonFlags(flags, o);
  AddWatchingFlags(flags, o);
  AddDebuggingFlags(flags, o);
  AddPrintingFlags(flags, o);
  o.gpu_pass_flags.AddTo(flags);
  flags.Common({"output",
                "passes",
                "list-passes",
                "print-passes",
                "print-analysis",
                "split-input-file",
                "platform",
                "stage",
                "emit",
                "threads",
                "print-before",
                "print-after",
                "print-changed",
                "pass-summary",
                "time-passes",
                "stats",
                "remarks",
                "ir-dump-directory",
                "verify-only",
                "verify-each",
                "check-equivalence",
                "bisect",
                "opt-bisect-limit",
                "disable-passes",
                "reproducer",
                "print-style",
                "canonicalize-names",
                "strip"});
  flags.Group("Exit codes");
  flags.Note(
      "0 ok, 1 bad input or failing pass, 2 usage, 3 not equal, 4 out of memory, 5 not supported "
      "yet or not checked, 6 time limit, 70 internal error");
}

absl::Status CheckOptFlags(const Flags& flags, const OptOptions& o) {
  for (const auto& [one, other] : {std::pair("O", "passes"), std::pair("output", "output-dir"),
                                   std::pair("stage", "passes"), std::pair("stage", "O")}) {
    const bool is_plain_output = std::string_view(one) == "output" && o.output == "-";
    if (flags.given(one) && flags.given(other) && !is_plain_output) {
      return Error("`-{}{}` and `--{}` cannot both be given",
                   std::string_view(one).size() == 1 ? "" : "-", one, other);
    }
  }
  const PlatformInfo& platform = *FindOptPlatform(o.platform);
  if (FindStage(o.stage, platform) == nullptr) {
    return Error("platform `{}` has no stage `{}`{}; see --list-stages", o.platform, o.stage,
                 DidYouMean(o.stage, StageNames(platform)));
  }
  return absl::OkStatus();
}

int MaxErrors(const OptOptions& options) {
  // Every message counts when nothing else is wanted.
  constexpr int64_t kAll = 1'000'000;
  const int64_t limit = options.max_errors > 0 ? options.max_errors
                        : options.verify_only  ? kAll
                                               : 10;
  return static_cast<int>(std::min(limit, kAll));
}

}  // namespace hlo
