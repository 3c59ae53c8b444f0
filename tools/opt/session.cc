#include "tools/opt/session.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "lib/analysis/print.h"
#include "lib/ir/verify_meaning.h"
#include "lib/support/contains.h"
#include "lib/support/file.h"
#include "lib/support/stopwatch.h"
#include "lib/support/strings.h"
#include "lib/support/time_trace.h"
#include "parser/parser.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tools/opt/bisect_command.h"
#include "tools/opt/dump_index.h"
#include "tools/opt/emit.h"
#include "tools/opt/instrument.h"
#include "tools/opt/lists.h"
#include "tools/opt/pass_summary.h"
#include "tools/opt/plain_module.h"
#include "tools/opt/reports.h"
#include "tools/opt/reproducer.h"
#include "tools/opt/result_checks.h"
#include "tools/support/crash_reproducer.h"
#include "tools/support/elided.h"
#include "tools/support/equivalence_check.h"
#include "tools/support/expected_diagnostics.h"
#include "tools/support/gpu_target.h"
#include "tools/support/progress.h"
#include "tools/support/time_limit.h"
#include "tools/support/watchdog.h"
#include "tools/support/xla_flags.h"

namespace hlo {
namespace {

// How many passes a pipeline runs; 0 when that is not known before.
size_t StepCount(const Pipeline& pipeline) {
  const bool has_rounds =
      std::any_of(pipeline.begin(), pipeline.end(),
                  [](const PipelineItem& item) { return !item.children.empty(); });
  return has_rounds ? 0 : pipeline.size();
}

// Whether the flag, `--name=value`, decides which passes run and how.
bool IsAboutPasses(std::string_view word) {
  constexpr std::string_view kNames[] = {"disable-passes", "xla-disable-hlo-passes",
                                         "only-passes",    "start-at",
                                         "start-after",    "xla-disable-all-hlo-passes",
                                         "stop-after",     "opt-bisect-limit",
                                         "rewrite-limit",  "debug-counter",
                                         "disable-rule",   "fill-elided",
                                         "verify-input",   "threads"};
  const std::string_view name = word.substr(2, word.find('=') - 2);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

class Session {
 public:
  Session(const Flags& flags, const OptOptions& options)
      : flags_(flags), options_(options), progress_(ShowsProgress(options.progress)) {}

  int Run() {
    if (const absl::Status status = CheckOptFlags(flags_, options_); !status.ok()) {
      ReportToolError(flags_.program(), status);
      return kExitUsage;
    }
    StartTimeLimit(options_.time_limit, flags_.program(), AtLimit::kReproduces);
    if (const absl::Status status = Prepare(); !status.ok())
      return ReportToolError(flags_.program(), status);
    if (HasPasses() || options_.print_pipeline) {
      const std::string text = options_.converge ? "fix(" + PassesText() + ")" : PassesText();
      if (const int code = ParsePasses(text); code != kExitOk) return code;
    }
    if (options_.print_pipeline) {
      WriteStdout(ToText(pipeline_) + "\n");
      return kExitOk;
    }
    std::vector<std::string> paths = flags_.positional();
    if (paths.empty()) {
      if (isatty(STDIN_FILENO) != 0) {
        WriteStderr(
            "hlo-opt: error: no input; give a file, or `-` for standard input (see --help)\n");
        return kExitUsage;
      }
      paths.push_back("-");
    }
    if (!options_.time_trace.empty()) StartTimeTrace();
    int exit_code = kExitOk;
    for (const std::string& path : paths) exit_code = Worse(exit_code, RunFile(path));
    exit_code = Worse(exit_code, Report());
    exit_code = Worse(exit_code, Finish(exit_code));
    return exit_code == kExitOk && is_incomplete_ ? kExitUnsupported : exit_code;
  }

 private:
  absl::Status Prepare() {
    platform_ = *FindOptPlatform(options_.platform);
    stage_ = *FindStage(options_.stage, platform_);
    if (options_.emit_proto) emit_ = "pbtxt";
    to_file_ = options_.output != "-" || !options_.output_dir.empty();
    ASSIGN_OR_RETURN(print_, options_.print.Options(flags_, to_file_));
    if (options_.canonicalize_names) {
      print_ = PrintOptions::Canonical();
      print_.canonical_computation_names = true;
    }
    RETURN_IF_ERROR(FillInstrumentation(options_, print_, instrumentation_));
    RETURN_IF_ERROR(FillContext(options_, context_));
    // The decisions of the fusion passes are remarks.
    only_fusion_ = options_.remarks.empty() && Contains(instrumentation_.debug, "fusion");
    if (PrintsRemarks()) {
      context_.set_wants_remarks(true);
      ASSIGN_OR_RETURN(remarks_, RemarkFilter::Parse(only_fusion_ ? "all" : options_.remarks));
    }
    if (flags_.given("check-equivalence"))
      CheckEquivalence(options_.check_equivalence, options_.seed);
    if (options_.pass_summary) summary_.AddTo(instrumentation_);
    if (!options_.time_trace.empty()) RETURN_IF_ERROR(CheckWritable(options_.time_trace));
    return absl::OkStatus();
  }

  void CheckEquivalence(int64_t inputs, int64_t seed) {
    equivalence_.emplace(EquivalenceOptions{.first_seed = static_cast<uint64_t>(seed),
                                            .seeds = inputs,
                                            .max_loop_iterations = options_.max_loop_iterations,
                                            .threads = static_cast<int>(options_.threads)});
    equivalence_->AddTo(instrumentation_);
  }

  // ---- pipelines ----

  bool HasPasses() const { return flags_.given("passes") || flags_.given("O"); }
  std::string PassesText() const {
    if (flags_.given("passes") || options_.level <= 0) return options_.passes;
    if (options_.level == 1 || platform_.pipeline.empty()) return "simplify";
    return std::string(platform_.pipeline);
  }

  int ParsePasses(std::string_view text) {
    std::string file;
    std::string name = "--passes";
    if (text.starts_with('@')) {
      name = text.substr(1);
      absl::StatusOr<std::string> read = ReadFile(name);
      if (!read.ok()) return ReportToolError(flags_.program(), read.status());
      file = *std::move(read);
      text = file;
    }
    const Source source(name, std::string(text));
    const absl::StatusOr<GpuProperties> gpu =
        GpuPropertiesOf(options_.gpu_target, options_.gpu_target_config);
    if (!gpu.ok()) return ReportToolError(flags_.program(), gpu.status());
    absl::StatusOr<Pipeline> pipeline = options_.gpu_pass_flags.Parse(source.text(), *gpu);
    if (!pipeline.ok()) {
      // The words that XLA's tool says, for who looks for them.
      if (const std::optional<std::string> missing = MissingPass(pipeline.status()))
        WriteStderr(fmt::format("INVALID_ARGUMENT: Pass {} not found.\n", *missing));
      return ReportError(pipeline.status(), &source);
    }
    pipeline_ = *std::move(pipeline);
    return kExitOk;
  }

  // Without --passes: those that a reproducer asks for, or those of the platform.
  int DefaultPasses(const InputText& input) {
    pipeline_.clear();
    if (const auto words = ReproducerFlags(input.source->text())) {
      WriteNote(fmt::format("hlo-opt: note: {} is a reproducer: running {}\n", input.source->name(),
                            Join(*words, " ")));
      return TakeReproducerFlags(*words);
    }
    if (stage_.form.empty() || platform_.pipeline.empty()) return kExitOk;
    return ParsePasses(platform_.pipeline);
  }

  static bool IsReproducer(const InputText& input) {
    return ReproducerFlags(input.source->text()).has_value();
  }

  int TakeReproducerFlags(const std::vector<std::string>& words) {
    Flags flags("the reproducer", "", "");
    std::string passes;
    int64_t inputs = 0, seed = kDefaultSeed;
    flags.Add("passes", &passes, FlagValues::Any(), "PIPELINE");
    flags.Add("check-equivalence", &inputs, FlagValues::From(1), "N");
    flags.Add("seed", &seed, FlagValues::From(0), "N");
    std::vector<const char*> arguments = {"hlo-opt"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    const absl::Status status = flags.Parse(static_cast<int>(arguments.size()), arguments.data());
    if (status.ok() && flags.given("check-equivalence")) CheckEquivalence(inputs, seed);
    return status.ok() ? ParsePasses(passes) : ReportToolError(flags_.program(), status);
  }

  // ---- inputs ----

  int RunFile(const std::string& path) {
    absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(path, options_.split);
    if (!inputs.ok()) return ReportToolError(flags_.program(), inputs.status());
    int exit_code = kExitOk;
    for (const InputText& input : *inputs) exit_code = Worse(exit_code, RunText(input));
    if (!options_.output_dir.empty() && exit_code == kExitOk && !options_.disable_output) {
      const std::string name = path == "-" ? "stdin.hlo" : std::filesystem::path(path).filename();
      const absl::Status status = WriteFile(options_.output_dir + "/" + name, file_text_);
      if (!status.ok()) exit_code = ReportToolError(flags_.program(), status);
      file_text_.clear();
      emitted_ = 0;
    }
    return exit_code;
  }

  // Parsed, and verified as the flags ask. `warnings` (may be null) gets those of both.
  absl::StatusOr<std::unique_ptr<Module>> Load(const InputText& input,
                                               std::vector<Diagnostic>* warnings = nullptr) const {
    ParserOptions parser;
    parser.warnings = warnings;
    const Stopwatch parsing;
    absl::StatusOr<std::unique_ptr<Module>> parsed = [&] {
      const TimeSpan span("parse", input.source->name());
      return ParseModule(input.source, parser);
    }();
    ASSIGN_OR_RETURN(std::unique_ptr<Module> module, std::move(parsed));
    if (Contains(instrumentation_.debug, "parser")) {
      WriteStderr(fmt::format(
          "debug: parser: {}: module {}, {} bytes, {} computations, {} instructions in {:.3f} ms\n",
          input.source->name(), module->name(), input.source->text().size(),
          module->computation_count(), module->instruction_count(), parsing.milliseconds()));
    }
    VerifierOptions verifier;
    verifier.max_errors = MaxErrors(options_);
    if (options_.verify_input || options_.verify_only) {
      const TimeSpan span("verify", "input");
      const absl::Status status = Verify(*module, verifier);
      if (!status.ok()) {
        if (options_.verify_only || status.code() == absl::StatusCode::kInternal) return status;
        return AddNote(status, {}, "`--verify-input=false` reads it all the same");
      }
      if (warnings != nullptr) {
        const std::vector<Diagnostic> meaningless = MeaningWarnings(*module);
        warnings->insert(warnings->end(), meaningless.begin(), meaningless.end());
      }
    }
    if (!options_.fill_elided.empty())
      RETURN_IF_ERROR(FillElided(*module, options_.fill_elided).status());
    return module;
  }

  int RunText(const InputText& input) {
    if (!HasPasses()) {
      if (const int code = DefaultPasses(input); code != kExitOk) return code;
    }
    const CrashLine line("working on", input.source->name());
    std::optional<CrashReproducer> reproducer;
    if (options_.reproducer && options_.reproduce_to.empty()) {
      const std::string words = ReproducerWords(ToText(pipeline_));
      reproducer.emplace("hlo-opt", ReproducerHead(words), input.source,
                         std::vector<std::string>());
      reproducer->SetRefiner(RefinerWords());
    }
    const int code = RunText(input, reproducer ? &*reproducer : nullptr);
    progress_.Stage("");
    return code;
  }

  int RunText(const InputText& input, CrashReproducer* reproducer) {
    progress_.Stage(std::string(input.source->name()));
    FollowPasses(reproducer);
    std::vector<Diagnostic> warnings;
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input, &warnings);
    absl::Status status = module.status();
    if (status.ok() && !options_.bisect.empty()) {
      const absl::StatusOr<int> code = BisectCommand(
          pipeline_, instrumentation_, [&] { return Load(input); }, options_.bisect);
      return code.ok() ? *code : ReportError(code.status(), input.source.get());
    }
    if (status.ok() && !options_.verify_only) status = Transform(input, **module);
    if (options_.verify_diagnostics) {
      if (status.code() == absl::StatusCode::kInternal)
        return ReportError(status, input.source.get());
      const std::string mismatch = MismatchedDiagnostics(*input.source, status, warnings);
      WriteStderr(mismatch);
      return mismatch.empty() ? kExitOk : kExitBadInput;
    }
    WriteNote(Render(warnings, input.source.get()));
    if (!status.ok()) {
      const int code = ReportError(status, input.source.get());
      WriteStderr(std::exchange(reproducer_note_, ""));
      return code;
    }
    if (!options_.strip.empty()) StripParts(**module, options_.strip);
    if (options_.verify_roundtrip) {
      if (const int code = CheckRoundtrip(**module, print_); code != kExitOk) return code;
    }
    if (!options_.expect_equal.empty()) {
      if (const int code =
              CheckEqualTo(options_.expect_equal, options_.expect_equal_layouts, **module);
          code != kExitOk)
        return code;
    }
    ++module_number_;
    if (options_.disable_output || options_.verify_only) return kExitOk;
    return Show(input, **module);
  }

  // ---- passes ----

  // Tells the progress line and the handler of a crash which pass is running.
  void FollowPasses(CrashReproducer* reproducer) {
    const size_t steps = StepCount(pipeline_);
    instrumentation_.on_start = [this, reproducer, steps](const PipelineItem& pass,
                                                          int64_t number) {
      progress_.Step(fmt::format("pass {} ({}{})", pass.name, number + 1,
                                 steps > 0 ? fmt::format(" of {}", steps) : ""));
      if (reproducer != nullptr) reproducer->InPass(pass.name, number);
    };
    if (options_.reproduce_to.empty()) return;
    instrumentation_.before_pass = [this, number = int64_t{0}](const PipelineItem& pass,
                                                               const Module& module) mutable {
      if (number++ != options_.reproduce_before) return absl::OkStatus();
      const absl::Status status =
          WriteFile(options_.reproduce_to, ReproducerText(module, ReproducerWords(ToText({pass}))));
      _exit(status.ok() ? kExitOk : kExitBadInput);
    };
  }

  // The flags that repeat what these passes do here.
  std::string ReproducerWords(std::string_view passes) const {
    std::string words = "--passes=" + SingleQuoted(passes);
    if (equivalence_) words += fmt::format(" --check-equivalence={}", options_.check_equivalence);
    if (equivalence_ && options_.seed != static_cast<int64_t>(kDefaultSeed))
      words += fmt::format(" --seed={}", options_.seed);
    return words;
  }

  // The flags that make the module of before a pass again.
  std::vector<std::string> RefinerWords() const {
    std::vector<std::string> words = {"--passes=" + ToText(pipeline_), "--disable-output",
                                      "--no-verify-each"};
    for (std::string& word : flags_.GivenWords({}))
      if (IsAboutPasses(word)) words.push_back(std::move(word));
    return words;
  }

  absl::Status Transform(const InputText& input, Module& module) {
    RETURN_IF_ERROR(DumpModule(module, "before_optimization"));
    RETURN_IF_ERROR(DumpOptions(module));
    // What is scheduled has been through the platform's passes.
    const bool is_compiled = !HasPasses() && module.is_scheduled() && !IsReproducer(input);
    if (!pipeline_.empty() && !is_compiled) RETURN_IF_ERROR(RunPasses(input, module));
    return DumpModule(module, "after_optimization");
  }

  absl::Status RunPasses(const InputText& input, Module& module) {
    const size_t first_remark = context_.remarks().size();
    std::function<void(const FailureReport&)> on_failure;
    if (options_.reproducer && !options_.verify_diagnostics) {
      on_failure = [&](const FailureReport& failure) { Reproduce(input, failure); };
    }
    instrumentation_.dump_number = module_number_;
    Instrumentation instrumentation = instrumentation_;
    // Of what was not sound before, no pass is to be blamed.
    if (!options_.verify_input && instrumentation.verify_each)
      instrumentation.verify_each = Verify(module, instrumentation.verifier).ok();
    if (!PrintFilterOf(options_).TakesModule(module)) instrumentation.dump_directory.clear();
    const Watchdog watchdog(flags_.program());
    if (equivalence_) equivalence_->Start();
    summary_.Start();
    const std::string name = module.name();
    absl::StatusOr<PipelineResult> result =
        RunPipeline(pipeline_, module, context_, instrumentation, on_failure);
    if (PrintsRemarks()) PrintRemarks(*input.source, first_remark);
    RETURN_IF_ERROR(result.status());
    if (options_.pass_summary) WriteStderr(summary_.Table(result->runs));
    if (!instrumentation.dump_directory.empty())
      dumped_.push_back({name, result->first_dump, result->runs});
    if (total_.runs.empty()) total_.first_peak_bytes = result->first_peak_bytes;
    total_.runs.insert(total_.runs.end(), result->runs.begin(), result->runs.end());
    total_.verify_milliseconds += result->verify_milliseconds;
    if (equivalence_) {
      WriteStderr(
          fmt::format("{}: equivalence: {}\n", input.source->name(), equivalence_->Report()));
      is_incomplete_ = is_incomplete_ || equivalence_->is_incomplete();
    }
    return absl::OkStatus();
  }

  // What XLA writes for --xla_dump_to.
  absl::Status DumpModule(const Module& module, std::string_view suffix) const {
    if (options_.xla_dump_to.empty()) return absl::OkStatus();
    return WriteFile(DumpPath(module) + fmt::format(".{}.txt", suffix), ToText(module, print_));
  }
  absl::Status DumpOptions(const Module& module) const {
    if (options_.xla_dump_to.empty()) return absl::OkStatus();
    return WriteFile(DumpPath(module) + ".debug_options", DebugOptionsText(flags_.given_to_xla()));
  }
  std::string DumpPath(const Module& module) const {
    return fmt::format("{}/module_{:04d}.{}", options_.xla_dump_to, module_number_, module.name());
  }

  // The module before the failing pass is made again: the input is read anew and the passes before
  // it are run.
  void Reproduce(const InputText& input, const FailureReport& failure) {
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input);
    if (!module.ok()) return;
    Instrumentation before;
    before.bisect_limit = failure.passes_before;
    before.disabled = instrumentation_.disabled;
    before.only = instrumentation_.only;
    before.start_at = instrumentation_.start_at;
    before.start_after = instrumentation_.start_after;
    before.verify_each = false;
    PassContext context;
    if (!RunPipeline(pipeline_, **module, context, before).ok()) return;
    reproducer_note_ = WriteReproducer(**module, failure.pass, ReproducerWords(failure.pass_text));
  }

  bool PrintsRemarks() const { return only_fusion_ || !options_.remarks.empty(); }

  void PrintRemarks(const Source& source, size_t first) {
    if (first == context_.remarks().size()) return;
    const LineTable lines(source);
    for (size_t i = first; i < context_.remarks().size(); ++i) {
      const PassContext::RemarkEntry& remark = context_.remarks()[i];
      if (!remarks_.Shows(remark)) continue;
      if (only_fusion_ && remark.pass.find("fusion") == std::string::npos) continue;
      WriteStderr(options_.remarks_format == "yaml" ? RemarkYaml(remark, source, lines)
                                                    : RemarkText(remark, source, lines));
    }
  }

  // ---- results ----

  int Show(const InputText& input, const Module& module) {
    const TimeSpan span("print");
    if (!options_.print_analysis.empty()) {
      Emit(AnalysesText(module));
      return kExitOk;
    }
    if (emit_ == "hlo" && stage_.form.empty() && !HasPasses()) {
      const absl::StatusOr<std::string> target =
          GpuTarget(options_.gpu_target, options_.gpu_target_config);
      if (!target.ok()) return ReportToolError(flags_.program(), target.status());
      std::string text;
      if (!stage_.head.empty()) text = fmt::format("{}\n", stage_.head);
      const int code = EmitStage(*input.source, StageWords(*target), text);
      if (code == kExitOk) Emit(std::move(text));
      return code;
    }
    const std::string_view form = emit_ == "hlo" && !HasPasses() ? stage_.form : emit_;
    absl::StatusOr<std::string> text = EmitModule(module, form, {print_, options_.color_by});
    if (!text.ok()) return ReportError(text.status(), input.source.get());
    Emit(*std::move(text));
    return kExitOk;
  }

  // Each analysis under its name where there are several.
  std::string AnalysesText(const Module& module) const {
    const std::vector<std::string_view> names = Split(options_.print_analysis, ',');
    std::string text;
    for (const std::string_view name : names) {
      if (names.size() > 1) text += fmt::format("== {} ==\n", name);
      text += FindAnalysisPrinter(Trim(name))->print(module);
    }
    return text;
  }

  // What hlo-run is asked for a stage of a platform.
  std::vector<std::string> StageWords(const std::string& target) const {
    std::vector<std::string> words = {fmt::format("--platform={}", platform_.name),
                                      fmt::format("--emit={}", stage_.run_emit)};
    if (!target.empty() && platform_.name == "gpu") words.push_back("--target=" + target);
    if (!options_.fill_elided.empty()) words.push_back("--fill-elided=" + options_.fill_elided);
    if (!options_.cpu_features.empty()) words.push_back("--cpu-features=" + options_.cpu_features);
    if (options_.threads > 0) words.push_back(fmt::format("--threads={}", options_.threads));
    return words;
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

  // Tables after the last input; names that were given for nothing.
  int Report() {
    const auto wanted = [](const std::string& form) { return !form.empty() && form != "false"; };
    if (wanted(options_.time_passes) || options_.track_memory) {
      WriteStderr(options_.time_passes == "json" ? TimesJson(total_) + "\n"
                                                 : TimeTable(total_, options_.track_memory));
    }
    if (wanted(options_.stats) || options_.stats_json)
      WriteStderr(options_.stats == "json" || options_.stats_json ? StatsJson(context_) + "\n"
                                                                  : StatsText(context_));
    if (!total_.runs.empty())
      WriteNote(NamesWithoutPass(instrumentation_, total_.runs) + NamesWithoutRule(options_));
    absl::Status status;
    if (!options_.json.empty()) status = WriteFile(options_.json, ReportJson(total_, context_));
    if (status.ok() && !options_.time_trace.empty())
      status = WriteFile(options_.time_trace, TimeTraceText(TakeTimeTrace(), "hlo-opt"));
    if (status.ok() && !options_.dump_directory.empty())
      status = WriteDumpIndex(options_.dump_directory, dumped_);
    return status.ok() ? kExitOk : ReportToolError(flags_.program(), status);
  }

  // A file is written when everything went well, and whole.
  int Finish(int exit_code) {
    if (options_.output == "-" || options_.disable_output || options_.verify_only ||
        options_.verify_diagnostics || !options_.bisect.empty())
      return kExitOk;
    if (exit_code != kExitOk) {
      WriteStderr(fmt::format("note: {} was not written\n", options_.output));
      return kExitOk;
    }
    const absl::Status status = WriteFile(options_.output, file_text_);
    return status.ok() ? kExitOk : ReportToolError(flags_.program(), status);
  }

  const Flags& flags_;
  const OptOptions& options_;
  PlatformInfo platform_ = {};
  StageInfo stage_;
  Pipeline pipeline_;
  PrintOptions print_;
  Instrumentation instrumentation_;
  PassContext context_;
  RemarkFilter remarks_;
  bool only_fusion_ = false;  // of the remarks: --debug-only=fusion asked for them
  std::optional<EquivalenceCheck> equivalence_;
  bool is_incomplete_ = false;  // something could not be checked
  PipelineResult total_;
  PassSummary summary_;
  std::vector<DumpedModule> dumped_;
  Progress progress_;
  bool to_file_ = false;
  bool closed_ = false;
  std::string emit_ = options_.emit;
  int emitted_ = 0;
  int64_t module_number_ = 0;
  std::string file_text_;
  std::string reproducer_note_;
};

}  // namespace

int RunHloOpt(const Flags& flags, const OptOptions& options) {
  return Session(flags, options).Run();
}

}  // namespace hlo
