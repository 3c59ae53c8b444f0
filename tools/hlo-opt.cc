// hlo-opt: reads HLO modules, verifies them, runs passes, prints the result. See --help and
// passes/README.md.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/ir/compare.h"
#include "lib/ir/verifier.h"
#include "lib/ops/ops.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "passes/registry.h"
#include "tools/support/equivalence_check.h"
#include "tools/support/expected_diagnostics.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

struct Options {
  std::string output = "-";
  std::string passes;
  bool split = false;
  bool disable_output = false;
  std::string separator;
  bool list_passes = false, print_passes = false, list_ops = false, list_print_options = false;
  bool verify_diagnostics = false;
  bool verify_input = true, verify_each = true, verify_only = false, check_changed_flag = false;
  int64_t max_errors = 10;
  bool time_passes = false, stats = false, remarks = false;
  bool print_before_all = false, print_after_all = false, print_changed = false,
       print_pass_names = false;
  std::string print_before, print_after, disable;
  std::string dump_directory;
  int64_t bisect_limit = -1;
  int64_t check_equivalence = 0, seed = kDefaultSeed;
  bool reproducer = true;
  std::string expect_equal;
  PrintFlags print;
};

void AddFlags(Flags& flags, Options& o) {
  flags.Example("hlo-opt f.hlo --passes=call-inliner,dce", "inline calls, drop dead code, print");
  flags.Example("hlo-opt f.hlo --passes='fix(constant_folding,cse)' -o g.hlo",
                "until nothing changes");
  flags.Group("Common");
  flags.Add("output,o", &o.output, "FILE",
            "write there, whole or not at all (default -); constants in full");
  flags.Add("passes", &o.passes, "PIPELINE",
            "name,name{option=value},fix(name,name); none: only check and print");
  flags.Add("list-passes", &o.list_passes, "the names of all passes on one line");
  flags.Add("print-passes", &o.print_passes, "the passes with summaries and options");
  flags.Add("list-ops", &o.list_ops, "the opcodes with operands and summaries");
  flags.Add("list-print-options", &o.list_print_options);
  flags.Add("split-input-file", &o.split, "cut inputs at `// -----` lines, treat each part alone");
  flags.Add("output-separator", &o.separator, "TEXT", "line between results (default: none)");
  flags.Add("disable-output", &o.disable_output, "do not print the result");
  flags.Group("Watching passes (on standard error)");
  flags.Add("print-before", &o.print_before, "NAMES",
            "the module before these passes; --print-before-all");
  flags.Add("print-before-all", &o.print_before_all);
  flags.Add("print-after", &o.print_after, "NAMES",
            "the module after these passes; --print-after-all");
  flags.Add("print-after-all", &o.print_after_all);
  flags.Add("print-changed", &o.print_changed, "the module after passes that changed it");
  flags.Add("print-pass-names", &o.print_pass_names, "each pass as it starts");
  flags.Add("time-passes", &o.time_passes, "a table of times");
  flags.Add("stats", &o.stats, "what the passes counted");
  flags.Add("remarks", &o.remarks, "what the passes decided, with places");
  flags.Add("ir-dump-directory", &o.dump_directory, "DIR",
            "the module after each pass in numbered files");
  flags.Group("Finding bugs");
  flags.Add("verify-only", &o.verify_only, "only check the input, say everything that is wrong");
  flags.Add("max-errors", &o.max_errors, "N", "messages of one check (default 10)");
  flags.Add("verify-input", &o.verify_input,
            "check the module when it is read (default on); without, anything may happen later");
  flags.Add("verify-each", &o.verify_each, "check the module after every pass (default on)");
  flags.Add("check-changed-flag", &o.check_changed_flag,
            "passes must tell the truth about having changed something");
  flags.Add("check-equivalence", &o.check_equivalence, "[1|N]",
            "run the module on the interpreter after each pass, with N inputs (else 3)");
  flags.Add("seed", &o.seed, "N", "of the first of these inputs (default 42)");
  flags.Add(
      "verify-diagnostics", &o.verify_diagnostics,
      "what `// expected-error@+1 {{text}}` announces must come (-warning, -note, -error-re)");
  flags.Add("opt-bisect-limit,bisect-limit", &o.bisect_limit, "N", "run only the first N passes");
  flags.Add("disable-passes,disable-pass", &o.disable, "NAMES", "skip these passes");
  flags.Add("reproducer", &o.reproducer,
            "on failure write the module before the failing pass (default on)");
  flags.Add("expect-equal", &o.expect_equal, "FILE",
            "the result must be this module, names and layouts aside (else 3)");
  flags.Group("Printing");
  o.print.AddTo(flags);
  flags.Group("Exit codes");
  flags.Note(
      "0 ok, 1 bad input or failing pass, 2 usage, 3 not equal, 4 out of memory, 5 not supported "
      "yet or not checked, 70 internal error");
}

// ---- lists ----

std::string PassNames() {
  std::vector<std::string_view> names;
  for (const PassInfo& info : AllPasses()) names.push_back(info.name);
  return Join(names, ",") + "\n";
}

std::string PassTable() {
  std::string out;
  for (const PassInfo& info : AllPasses()) {
    out += fmt::format("{:<24} {}\n", info.name, info.summary);
    for (const OptionInfo& option : info.options()) {
      out += fmt::format(
          "    {}=<{}>{}\n", option.name, option.type,
          option.default_value.empty() ? "" : fmt::format(" (default {})", option.default_value));
    }
  }
  return out;
}

std::string OpTable() {
  std::string out;
  for (const OpInfo& info : AllOpInfos()) {
    std::string operands;
    for (int i = 0; i < info.operands.name_count; ++i) {
      operands +=
          fmt::format("{}{}", i == 0 ? "" : ", ", info.operands.names[static_cast<size_t>(i)]);
    }
    if (info.operands.max < 0) operands += ", …";
    out += fmt::format("{:<26}{:<50} {}\n", info.text, "(" + operands + ")", info.summary);
  }
  return out;
}

// ---- one run ----

std::vector<std::string> NamesOf(std::string_view list) {
  std::vector<std::string> names;
  for (std::string_view name : Split(list, ',')) {
    if (!Trim(name).empty()) names.emplace_back(Trim(name));
  }
  return names;
}

class Session {
 public:
  Session(const Flags& flags, const Options& options) : flags_(flags), options_(options) {}

  int Run() {
    if (const absl::Status status = Prepare(); !status.ok())
      return ReportToolError(flags_.program(), status);
    if (const int code = ParsePasses(); code != kExitOk) return code;
    std::vector<std::string> paths = flags_.positional();
    if (paths.empty()) {
      if (isatty(STDIN_FILENO) != 0) {
        WriteStderr(
            "hlo-opt: error: no input; give a file, or `-` for standard input (see --help)\n");
        return kExitUsage;
      }
      paths.push_back("-");
    }
    int exit_code = kExitOk;
    for (const std::string& path : paths) exit_code = Worse(exit_code, RunFile(path));
    if (options_.time_passes) WriteStderr(TimeTable(total_));
    if (options_.stats) PrintStats();
    exit_code = Worse(exit_code, Finish(exit_code));
    return exit_code == kExitOk && is_incomplete_ ? kExitUnsupported : exit_code;
  }

 private:
  absl::Status Prepare() {
    to_file_ = options_.output != "-";
    ASSIGN_OR_RETURN(print_, options_.print.Options(flags_, to_file_));
    Instrumentation& in = instrumentation_;
    in.verify_each = options_.verify_each;
    in.verifier.max_errors = MaxErrors();
    in.check_changed_flag = options_.check_changed_flag;
    in.print = print_;
    in.print_before_all = options_.print_before_all;
    in.print_after_all = options_.print_after_all;
    in.print_changed = options_.print_changed;
    in.print_pass_names = options_.print_pass_names;
    in.print_before = NamesOf(options_.print_before);
    in.print_after = NamesOf(options_.print_after);
    in.disabled = NamesOf(options_.disable);
    in.bisect_limit = options_.bisect_limit;
    in.dump_directory = options_.dump_directory;
    for (const std::vector<std::string>* names :
         {&in.print_before, &in.print_after, &in.disabled}) {
      for (const std::string& name : *names) RETURN_IF_ERROR(GetPass(name).status());
    }
    if (!in.dump_directory.empty() && mkdir(in.dump_directory.c_str(), 0777) != 0 &&
        errno != EEXIST) {
      return Error("cannot make folder `{}`: {}", in.dump_directory, std::strerror(errno));
    }
    context_.set_wants_remarks(options_.remarks);
    if (flags_.given("check-equivalence")) {
      if (options_.check_equivalence < 1 || options_.seed < 0)
        return Error("`--check-equivalence` expects at least 1 input and a seed from 0 on");
      equivalence_.emplace(EquivalenceOptions{static_cast<uint64_t>(options_.seed),
                                              options_.check_equivalence, 0, std::nullopt});
      equivalence_->AddTo(in);
    }
    return absl::OkStatus();
  }

  int ParsePasses() {
    const Source text("--passes", options_.passes);
    absl::StatusOr<Pipeline> pipeline = ParsePipeline(text.text());
    if (!pipeline.ok()) return ReportError(pipeline.status(), &text);
    pipeline_ = *std::move(pipeline);
    return kExitOk;
  }

  int RunFile(const std::string& path) {
    absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(path, options_.split);
    if (!inputs.ok()) return ReportToolError(flags_.program(), inputs.status());
    int exit_code = kExitOk;
    for (const InputText& input : *inputs) exit_code = Worse(exit_code, RunText(input));
    return exit_code;
  }

  // Every message counts when nothing else is wanted.
  int MaxErrors() const {
    constexpr int64_t kAll = 1'000'000;
    const int64_t limit =
        options_.verify_only && !flags_.given("max-errors") ? kAll : options_.max_errors;
    return static_cast<int>(std::clamp<int64_t>(limit, 1, kAll));
  }

  // Parsed, and verified as the flags ask. `warnings` (may be null) gets those of the parser.
  absl::StatusOr<std::unique_ptr<Module>> Load(const InputText& input,
                                               std::vector<Diagnostic>* warnings = nullptr) const {
    ParserOptions parser;
    parser.warnings = warnings;
    ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(input.source, parser));
    VerifierOptions verifier;
    verifier.max_errors = MaxErrors();
    if (options_.verify_input || options_.verify_only) RETURN_IF_ERROR(Verify(*module, verifier));
    return module;
  }

  int RunText(const InputText& input) {
    std::vector<Diagnostic> warnings;
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input, &warnings);
    absl::Status status = module.status();
    if (status.ok() && !options_.verify_only) status = Transform(input, **module);
    if (options_.verify_diagnostics) {
      if (status.code() == absl::StatusCode::kInternal)
        return ReportError(status, input.source.get());
      const std::string mismatch = MismatchedDiagnostics(*input.source, status, warnings);
      WriteStderr(mismatch);
      return mismatch.empty() ? kExitOk : kExitBadInput;
    }
    WriteStderr(Render(warnings, input.source.get()));
    if (!status.ok()) {
      const int code = ReportError(status, input.source.get());
      WriteStderr(std::exchange(reproducer_note_, ""));
      return code;
    }
    if (!options_.expect_equal.empty()) {
      if (const int code = CompareWithExpected(**module); code != kExitOk) return code;
    }
    if (!options_.disable_output && !options_.verify_only) Emit(ToText(**module, print_));
    return kExitOk;
  }

  int CompareWithExpected(const Module& module) {
    absl::StatusOr<std::vector<InputText>> inputs =
        ReadInputs(options_.expect_equal, /*split=*/false);
    if (!inputs.ok()) return ReportToolError(flags_.program(), inputs.status());
    const InputText& input = inputs->front();
    const absl::StatusOr<std::unique_ptr<Module>> expected = LoadModule(input);
    if (!expected.ok()) return ReportError(expected.status(), input.source.get());
    CompareOptions compare;
    compare.layout_sensitive = false;
    if (StructurallyEqual(module, **expected, compare)) return kExitOk;
    WriteStderr(
        fmt::format("hlo-opt: the result differs from the module of {}\n", input.source->name()));
    return kExitMismatch;
  }

  absl::Status Transform(const InputText& input, Module& module) {
    if (pipeline_.empty()) return absl::OkStatus();
    const size_t first_remark = context_.remarks().size();
    std::function<void(const FailureReport&)> on_failure;
    if (options_.reproducer && !options_.verify_diagnostics) {
      on_failure = [&](const FailureReport& failure) { WriteReproducer(input, failure); };
    }
    if (equivalence_) equivalence_->Start(module);
    absl::StatusOr<PipelineResult> result =
        RunPipeline(pipeline_, module, context_, instrumentation_, on_failure);
    PrintRemarks(input, first_remark);
    RETURN_IF_ERROR(result.status());
    total_.runs.insert(total_.runs.end(), result->runs.begin(), result->runs.end());
    total_.verify_milliseconds += result->verify_milliseconds;
    if (equivalence_) {
      WriteStderr(
          fmt::format("{}: equivalence: {}\n", input.source->name(), equivalence_->Report()));
      is_incomplete_ = is_incomplete_ || equivalence_->is_incomplete();
    }
    return absl::OkStatus();
  }

  // The module before the failing pass is made again: the input is read anew and the passes before
  // it are run.
  void WriteReproducer(const InputText& input, const FailureReport& failure) {
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input);
    if (!module.ok()) return;
    Instrumentation before;
    before.bisect_limit = failure.passes_before;
    before.disabled = instrumentation_.disabled;
    before.verify_each = false;
    PassContext context;
    if (!RunPipeline(pipeline_, **module, context, before).ok()) return;
    PrintOptions whole = PrintOptions::Default();
    whole.large_constants = true;
    const std::string path =
        fmt::format("{}/hlo-opt.{}.{}.repro.hlo", ReproducerFolder(), failure.pass, getpid());
    const std::string check =
        !equivalence_ ? ""
        : options_.seed == static_cast<int64_t>(kDefaultSeed)
            ? fmt::format(" --check-equivalence={}", options_.check_equivalence)
            : fmt::format(" --check-equivalence={} --seed={}", options_.check_equivalence,
                          options_.seed);
    const std::string text = fmt::format("// RUN: hlo-opt %s --passes='{}'{}\n{}",
                                         failure.pass_text, check, ToText(**module, whole));
    if (WriteFile(path, text).ok())
      reproducer_note_ = fmt::format("note: reproducer written to {}\n", path);
  }

  void PrintRemarks(const InputText& input, size_t first) {
    for (size_t i = first; i < context_.remarks().size(); ++i) {
      const PassContext::RemarkEntry& remark = context_.remarks()[i];
      const std::string_view kind = remark.kind == PassContext::Remark::kPassed   ? "done"
                                    : remark.kind == PassContext::Remark::kMissed ? "missed"
                                                                                  : "analysis";
      std::string place;
      if (remark.loc.known()) {
        const LineColumn at = input.source->Locate(remark.loc.offset);
        place = fmt::format("{}:{}:{}: ", input.source->name(), at.line, at.column);
      }
      WriteStderr(fmt::format("{}remark: {}: {} `{}`: {}\n", place, remark.pass, kind,
                              remark.instruction, remark.message));
    }
  }

  void PrintStats() {
    for (const auto& [key, count] : context_.counts()) {
      if (count != 0) WriteStderr(fmt::format("{:>10} {}: {}\n", count, key.first, key.second));
    }
  }

  void Emit(std::string text) {
    if (emitted_++ > 0)
      text = (options_.separator.empty() ? "\n" : options_.separator + "\n") + text;
    if (to_file_ && file_text_.empty()) {
      file_text_ = std::move(text);
    } else if (to_file_) {
      file_text_ += text;
    } else if (!closed_) {
      closed_ = !WriteStdout(text);
    }
  }

  // A file is written when everything went well, and whole.
  int Finish(int exit_code) {
    if (!to_file_ || options_.disable_output || options_.verify_only || options_.verify_diagnostics)
      return kExitOk;
    if (exit_code != kExitOk) {
      WriteStderr(fmt::format("note: {} was not written\n", options_.output));
      return kExitOk;
    }
    const absl::Status status = WriteFile(options_.output, file_text_);
    return status.ok() ? kExitOk : ReportToolError(flags_.program(), status);
  }

  const Flags& flags_;
  const Options& options_;
  Pipeline pipeline_;
  PrintOptions print_;
  Instrumentation instrumentation_;
  PassContext context_;
  std::optional<EquivalenceCheck> equivalence_;
  bool is_incomplete_ = false;  // something could not be checked
  PipelineResult total_;
  bool to_file_ = false;
  bool closed_ = false;
  int emitted_ = 0;
  std::string file_text_;
  std::string reproducer_note_;
};

int List(std::string_view text) {
  WriteStdout(text);
  return kExitOk;
}

int Main(int argc, char** argv) {
  Options options;
  Flags flags("hlo-opt", "[flags] FILE...",
              "Transforms HLO modules and prints them. FILE `-` is standard input.");
  AddFlags(flags, options);
  return ToolMain(flags, argc, argv, [&] {
    if (options.list_passes) return List(PassNames());
    if (options.print_passes) return List(PassTable());
    if (options.list_ops) return List(OpTable());
    if (options.list_print_options) return List(PrintFlags::Table());
    return Session(flags, options).Run();
  });
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Main(argc, argv); }
