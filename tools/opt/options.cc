#include "tools/opt/options.h"

#include <algorithm>

#include "lib/support/strings.h"
#include "passes/pass_manager.h"
#include "tools/opt/emit.h"
#include "tools/opt/lists.h"

namespace hlo {

void AddOptFlags(Flags& flags, OptOptions& o) {
  flags.Example("hlo-opt f.hlo --passes=call-inliner,dce", "inline calls, drop dead code, print");
  flags.Example("hlo-opt f.hlo --passes='fix(constant_folding,cse)' -o g.hlo",
                "until nothing changes");
  flags.Group("Common");
  flags.Add("output,o", &o.output, "FILE",
            "write there, whole or not at all (default -); constants in full");
  flags.Add("output-dir", &o.output_dir, "DIR", "one file of the same name per input");
  flags.Add("passes", &o.passes, "PIPELINE",
            "name,name{option=value},fix(a,b),repeat<3>(a),simplify,default<cpu>,@FILE");
  flags.Add("list-passes", &o.list_passes,
            "the names of all passes on one line; --list-ops, --list-types");
  flags.Add("print-passes", &o.print_passes, "[.|REGEX]",
            "passes and pipelines with summaries and options");
  flags.Add("converge", &o.converge);
  flags.Add("O", &o.level, "0..3");
  flags.Add("print-pipeline", &o.print_pipeline, "what --passes stands for, and no more");
  flags.Add("self-test", &o.self_test);
  flags.Add("list-ops", &o.list_ops);
  flags.Add("list-types", &o.list_types);
  flags.Add("list-print-options", &o.list_print_options);
  flags.Add("split-input-file", &o.split, "cut inputs at `// -----` lines, treat each part alone");
  flags.Add("output-separator", &o.separator, "TEXT", "line between results (default: none)");
  flags.Add("disable-output,no-output", &o.disable_output, "do not print the result");
  flags.Add("platform", &o.platform, "P", "transforms (default), cpu, gpu, interpreter");
  flags.Add("stage", &o.stage, "S", "without --passes: how far to compile; --list-stages");
  flags.Add("list-stages", &o.list_stages);
  flags.Add("target", &o.gpu_target, "NAME", "GPU for its stages: sm_80, sm_90 (default), sm_90a");
  flags.Add("xla-gpu-target-config-filename", &o.gpu_target_config, "FILE");
  flags.Add("emit", &o.emit, "FORMAT", "hlo (default), pb, pbtxt, json, dot, html; --emit-proto");
  flags.Add("emit-proto", &o.emit_proto);
  flags.Add("format,input-format", &o.format, "FORMAT");
  flags.Add("threads,j", &o.threads, "N",
            "threads for passes that can use them (default: all; results are the same)");
  flags.Group("Watching passes (on standard error)");
  flags.Add("print-before", &o.print_before, "NAMES",
            "the module before these passes; --print-before-all");
  flags.Add("print-before-all", &o.print_before_all);
  flags.Add("print-after", &o.print_after, "NAMES",
            "the module after these passes; --print-after-all");
  flags.Add("print-after-all", &o.print_after_all);
  flags.Add("print-changed", &o.print_changed, "[diff|HOW]",
            "what each pass changed: diff (default), cdiff, module, quiet");
  flags.Add("print-ir-after-failure", &o.print_after_failure);
  flags.Add("print-pass-names", &o.print_pass_names,
            "each pass as it starts; more: --debug-only=passes,fix,analyses");
  flags.Add("time-passes", &o.time_passes, "[table|FORM]",
            "times as a table or json; --track-memory adds memory");
  flags.Add("track-memory", &o.track_memory);
  flags.Add("debug-only", &o.debug_only, "SUBJECTS");
  flags.Add("stats", &o.stats, "[table|FORM]", "what the passes counted, table or json");
  flags.Add("remarks", &o.remarks, "[all|KINDS]",
            "what they decided: passed,missed,analysis; KINDS:TEXT filters; --remarks-format=yaml");
  flags.Add("remarks-format", &o.remarks_format, "FORM");
  flags.Add("trace-rules", &o.trace_rules, "each rewrite: rule, before, after");
  flags.Add("json", &o.json, "FILE", "times, counts and remarks for machines");
  flags.Add("ir-dump-directory", &o.dump_directory, "DIR",
            "the module between passes in numbered files, named as XLA names them");
  flags.Group("Finding bugs");
  flags.Add("verify-only", &o.verify_only, "only check the input, say everything that is wrong");
  flags.Add("max-errors", &o.max_errors, "N", "messages of one check (default 10)");
  flags.Add("verify-input", &o.verify_input,
            "check the module when it is read (default on); without, anything may happen later");
  flags.Add("verify-each", &o.verify_each,
            "check the module behind passes that changed it (default on)");
  flags.Add("verify-roundtrip", &o.verify_roundtrip, "the printed result must read back equal");
  flags.Add(
      "check-changed-flag,verify-change-flag,xla-unsupported-crash-on-hlo-pass-silent-hlo-change",
      &o.check_changed_flag, "passes must tell the truth about having changed something");
  flags.Add("check-analyses", &o.check_analyses);
  flags.Add("check-equivalence", &o.check_equivalence, "[1|N]",
            "run it on the interpreter after each pass, with N inputs from --seed=N (else 3); "
            "loops up to --max-loop-iterations");
  flags.Add("seed", &o.seed, "N");
  flags.Add("max-loop-iterations", &o.max_loop_iterations, "N");
  flags.Add(
      "verify-diagnostics", &o.verify_diagnostics,
      "what `// expected-error@+1 {{text}}` announces must come (-warning, -note, -error-re)");
  flags.Add("opt-bisect-limit,bisect-limit", &o.bisect_limit, "N",
            "run only the first N passes; --rewrite-limit=N: of rewrites");
  flags.Add("rewrite-limit", &o.rewrite_limit, "N");
  flags.Add("debug-counter", &o.debug_counter, "PASS:FIRST-LAST");
  flags.Add("bisect", &o.bisect, "CMD",
            "find the first pass, and its first rewrite, after which CMD FILE fails");
  flags.Add("disable-passes,disable-pass,xla-disable-hlo-passes", &o.disable, "NAMES",
            "skip these passes; --only-passes=NAMES skips the others");
  flags.Add("only-passes,xla-enable-hlo-passes-only", &o.only, "NAMES");
  flags.Add("disable-rule,disable-rules", &o.disable_rules, "NAMES", "leave these rules out");
  flags.Add("start-at,xla-run-hlo-passes-starting-from", &o.start_at, "NAME",
            "skip the passes before it (NAME#2: the second); --stop-after: those behind");
  flags.Add("start-after", &o.start_after, "NAME");
  flags.Add("stop-after", &o.stop_after, "NAME");
  flags.Add("xla-disable-all-hlo-passes", &o.disable_all);
  flags.Add("reproducer", &o.reproducer,
            "on failure write a file that `hlo-opt FILE` repeats it with (default on)");
  flags.Add("expect-equal", &o.expect_equal, "FILE",
            "the result must be this module, names and layouts aside (else 3)");
  flags.Add("xla-dump-to", &o.xla_dump_to, "DIR");
  flags.Add("xla-dump-hlo-pass-re", &o.xla_dump_pass_re, "REGEX");
  flags.Group("Printing");
  o.print.AddTo(flags);
  flags.Add("color", &o.color, "WHEN", "of diffs: auto, always, never; NO_COLOR is respected");
  flags.Add("v,verbose", &o.verbosity, "[1|N]");
  flags.Add("vmodule", &o.vmodule, "LIST");
  flags.Add("logtostderr", &o.logtostderr);
  flags.Group("Exit codes");
  flags.Note(
      "0 ok, 1 bad input or failing pass, 2 usage, 3 not equal, 4 out of memory, 5 not supported "
      "yet or not checked, 70 internal error");
}

absl::Status CheckOptFlags(const Flags& flags, const OptOptions& o) {
  if (flags.given("O") && (o.level < 0 || o.level > 3))
    return Error("`-O` expects 0 to 3, found {}", o.level);
  if (flags.given("O") && flags.given("passes"))
    return Error("`-O` and `--passes` cannot both be given");
  if (o.output != "-" && !o.output_dir.empty())
    return Error("`-o` and `--output-dir` cannot both be given");
  constexpr int64_t kMostThreads = 1024;
  if (o.max_loop_iterations < 0)
    return Error("`--max-loop-iterations` expects a number from 0 on, found {}",
                 o.max_loop_iterations);
  if (o.threads < 0 || o.threads > kMostThreads)
    return Error("`--threads` expects 0 to {}, found {}", kMostThreads, o.threads);
  const OptPlatform* platform = FindOptPlatform(o.platform);
  if (platform == nullptr) return OneOf("platform", o.platform, OptPlatformNames());
  const std::vector<std::string_view> forms = EmitWords();
  RETURN_IF_ERROR(OneOf("emit", o.emit, forms));
  std::vector<std::string_view> subjects;
  for (const DebugSubject& subject : kDebugSubjects) subjects.push_back(subject.name);
  for (const std::string& name : NamesOf(o.debug_only))
    RETURN_IF_ERROR(OneOf("debug-only", name, subjects));
  if (flags.given("format"))
    RETURN_IF_ERROR(OneOf("format", o.format, {"hlo", "txt", "pb", "pbtxt"}));
  RETURN_IF_ERROR(OneOf("remarks-format", o.remarks_format, {"text", "yaml"}));
  RETURN_IF_ERROR(OneOf("color", o.color, {"auto", "always", "never"}));
  for (const auto& [flag, value] :
       {std::pair("time-passes", &o.time_passes), std::pair("stats", &o.stats)}) {
    if (!value->empty()) RETURN_IF_ERROR(OneOf(flag, *value, {"table", "json", "true", "false"}));
  }
  if (!o.print_changed.empty()) {
    RETURN_IF_ERROR(OneOf("print-changed", o.print_changed,
                          {"diff", "cdiff", "module", "quiet", "true", "false"}));
  }
  if (FindStage(o.stage, platform->name) == nullptr) {
    return Error("platform `{}` has no stage `{}`{}; see --list-stages", o.platform, o.stage,
                 DidYouMean(o.stage, StageNames(platform->name)));
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

std::vector<std::string> NamesOf(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view name : Split(list, ',')) {
    if (!Trim(name).empty()) names.emplace_back(Trim(name));
  }
  return names;
}

}  // namespace hlo
