#include "tools/opt/session.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "lib/ir/compare.h"
#include "lib/proto/proto.h"
#include "lib/support/file.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tools/opt/bisect.h"
#include "tools/opt/dot.h"
#include "tools/opt/lists.h"
#include "tools/opt/reports.h"
#include "tools/opt/reproducer.h"
#include "tools/support/equivalence_check.h"
#include "tools/support/expected_diagnostics.h"

namespace hlo {
namespace {

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
  return Error("cannot make folder `{}`: {}", path, std::strerror(errno));
}

std::optional<SerialForm> FormOf(std::string_view emit) {
  if (emit == "pb") return SerialForm::kBinary;
  if (emit == "pbtxt") return SerialForm::kText;
  if (emit == "json") return SerialForm::kJson;
  return std::nullopt;
}

class Session {
 public:
  Session(const Flags& flags, const OptOptions& options) : flags_(flags), options_(options) {}

  int Run() {
    if (const absl::Status status = CheckWords(); !status.ok()) {
      ReportToolError(flags_.program(), status);
      return kExitUsage;
    }
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
    int exit_code = kExitOk;
    for (const std::string& path : paths) exit_code = Worse(exit_code, RunFile(path));
    exit_code = Worse(exit_code, Report());
    exit_code = Worse(exit_code, Finish(exit_code));
    return exit_code == kExitOk && is_incomplete_ ? kExitUnsupported : exit_code;
  }

 private:
  absl::Status Prepare() {
    if (options_.emit_proto) emit_ = "pbtxt";
    to_file_ = options_.output != "-" || !options_.output_dir.empty();
    if (options_.output != "-" && !options_.output_dir.empty())
      return Error("`-o` and `--output-dir` cannot both be given");
    ASSIGN_OR_RETURN(print_, options_.print.Options(flags_, to_file_));
    RETURN_IF_ERROR(PrepareInstrumentation());
    if (!options_.remarks.empty()) {
      ASSIGN_OR_RETURN(remarks_, RemarkFilter::Parse(options_.remarks));
    }
    context_.set_wants_remarks(!options_.remarks.empty() || !options_.json.empty());
    if (flags_.given("check-equivalence"))
      RETURN_IF_ERROR(CheckEquivalence(options_.check_equivalence, options_.seed));
    for (std::string& rule : NamesOf(options_.disable_rules)) context_.DisableRule(std::move(rule));
    if (!options_.debug_counter.empty()) RETURN_IF_ERROR(CountRewrites());
    if (options_.rewrite_limit >= 0) {
      context_.set_may_rewrite(
          [this, left = options_.rewrite_limit]() mutable { return left > 0 && left-- > 0; });
    }
    if (options_.trace_rules) {
      context_.set_rule_trace(
          [this](std::string_view rule, const Instruction& old, const Instruction& to) {
            WriteStderr(fmt::format("{}: {}: {}  =>  {}\n", context_.pass(), rule,
                                    ToText(old, PrintOptions::ShortParsable()),
                                    ToText(to, PrintOptions::ShortParsable())));
          });
    }
    return absl::OkStatus();
  }

  // --debug-counter=PASS:FIRST-LAST: of the rewrites that this pass could make, only these.
  absl::Status CountRewrites() {
    const std::string& text = options_.debug_counter;
    const size_t colon = text.find(':'), dash = text.find('-', colon);
    int64_t first = 0, last = 0;
    const auto number = [&](size_t begin, size_t end, int64_t& out) {
      const auto result = std::from_chars(text.data() + begin, text.data() + end, out);
      return result.ec == std::errc() && result.ptr == text.data() + end && out >= 0;
    };
    // A pass may have dashes in its name: they stand in front of the colon.
    if (colon == std::string::npos || dash == std::string::npos ||
        !number(colon + 1, dash, first) || !number(dash + 1, text.size(), last)) {
      return Error("`--debug-counter` expects PASS:FIRST-LAST, found `{}`", text);
    }
    const std::string pass = text.substr(0, colon);
    RETURN_IF_ERROR(CheckPassName(pass));
    context_.set_may_rewrite([this, pass, first, last, at = int64_t{0}]() mutable {
      if (context_.pass() != pass) return true;
      const int64_t number = at++;
      return number >= first && number <= last;
    });
    return absl::OkStatus();
  }

  absl::Status CheckWords() const {
    if (flags_.given("O") && (options_.level < 0 || options_.level > 3))
      return Error("`-O` expects 0 to 3, found {}", options_.level);
    if (flags_.given("O") && flags_.given("passes"))
      return Error("`-O` and `--passes` cannot both be given");
    RETURN_IF_ERROR(OneOf("platform", options_.platform, {"transforms", "cpu"}));
    RETURN_IF_ERROR(OneOf("emit", options_.emit, {"hlo", "pb", "pbtxt", "json", "dot"}));
    if (flags_.given("format"))
      RETURN_IF_ERROR(OneOf("format", options_.format, {"hlo", "txt", "pb", "pbtxt"}));
    RETURN_IF_ERROR(OneOf("remarks-format", options_.remarks_format, {"text", "yaml"}));
    RETURN_IF_ERROR(OneOf("color", options_.color, {"auto", "always", "never"}));
    for (const auto& [flag, value] :
         {std::pair("time-passes", &options_.time_passes), std::pair("stats", &options_.stats)}) {
      if (!value->empty()) RETURN_IF_ERROR(OneOf(flag, *value, {"table", "json", "true", "false"}));
    }
    if (!options_.print_changed.empty()) {
      RETURN_IF_ERROR(OneOf("print-changed", options_.print_changed,
                            {"diff", "cdiff", "module", "quiet", "true", "false"}));
    }
    if (!FindStage(options_.stage, options_.platform).has_value()) {
      return Error("platform `{}` has no stage `{}`; see --list-stages", options_.platform,
                   options_.stage);
    }
    return absl::OkStatus();
  }

  absl::Status PrepareInstrumentation() {
    Instrumentation& in = instrumentation_;
    in.verify_each = options_.verify_each;
    in.verifier.max_errors = MaxErrors();
    in.check_changed_flag = options_.check_changed_flag;
    in.print = print_;
    in.print_before_all = options_.print_before_all;
    in.print_after_all = options_.print_after_all;
    in.print_pass_names = options_.print_pass_names;
    if (!options_.print_changed.empty()) {
      const std::string& how = options_.print_changed;
      in.print_changed = how == "module"  ? PrintChanged::kModule
                         : how == "quiet" ? PrintChanged::kNames
                         : how == "false" ? PrintChanged::kNo
                                          : PrintChanged::kDiff;
      in.color = how == "cdiff" || options_.color == "always" ||
                 (options_.color == "auto" && isatty(STDERR_FILENO) != 0 &&
                  std::getenv("NO_COLOR") == nullptr);
    }
    in.print_before = NamesOf(options_.print_before);
    in.print_after = NamesOf(options_.print_after);
    in.disabled = NamesOf(options_.disable);
    in.only = NamesOf(options_.only);
    in.start_at = options_.start_at;
    in.start_after = options_.start_after;
    in.print_after_failure = options_.print_after_failure;
    in.stop_after = options_.stop_after;
    in.bisect_limit = options_.disable_all ? 0 : options_.bisect_limit;
    in.dump_directory = options_.dump_directory;
    // As XLA: a folder for dumps gets the modules before and after, and with a pattern those between.
    if (in.dump_directory.empty() && !options_.xla_dump_pass_re.empty())
      in.dump_directory = options_.xla_dump_to;
    for (const std::vector<std::string>* names :
         {&in.print_before, &in.print_after, &in.disabled, &in.only}) {
      for (const std::string& name : *names) RETURN_IF_ERROR(CheckPassName(name));
    }
    for (const std::string* name : {&in.start_at, &in.start_after, &in.stop_after}) {
      if (!name->empty()) RETURN_IF_ERROR(CheckPassName(*name));
    }
    for (const std::string* folder : std::initializer_list<const std::string*>{
             &in.dump_directory, &options_.xla_dump_to, &options_.output_dir}) {
      if (!folder->empty()) RETURN_IF_ERROR(MakeFolder(*folder));
    }
    return absl::OkStatus();
  }

  // Passes of XLA may be named although they do not exist here: they will not run either way.
  static absl::Status CheckPassName(const std::string& name) {
    return IsXlaPass(name) ? absl::OkStatus() : GetPass(name).status();
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
    absl::StatusOr<Pipeline> pipeline = ParsePipeline(source.text());
    if (!pipeline.ok()) {
      // The words that XLA's tool says, for who looks for them.
      const std::string message = Render(pipeline.status(), nullptr);
      const size_t quote = message.find("pass `");
      if (message.find("unknown pass `") != std::string::npos ||
          pipeline.status().code() == absl::StatusCode::kUnimplemented) {
        const size_t begin = quote + 6;
        WriteStderr(fmt::format("INVALID_ARGUMENT: Pass {} not found.\n",
                                message.substr(begin, message.find('`', begin) - begin)));
      }
      return ReportError(pipeline.status(), &source);
    }
    pipeline_ = *std::move(pipeline);
    return kExitOk;
  }

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

  bool HasPasses() const { return flags_.given("passes") || flags_.given("O"); }
  std::string PassesText() const {
    if (flags_.given("passes") || options_.level <= 0) return options_.passes;
    if (options_.level == 1 || options_.platform == "transforms") return "simplify";
    return fmt::format("default<{}>", options_.platform);
  }

  int RunText(const InputText& input) {
    if (!HasPasses()) {
      if (const int code = DefaultPasses(input); code != kExitOk) return code;
    }
    std::vector<Diagnostic> warnings;
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input, &warnings);
    absl::Status status = module.status();
    if (status.ok() && !options_.bisect.empty()) return RunBisect(input);
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
    if (options_.verify_roundtrip) {
      if (const int code = CheckRoundtrip(**module); code != kExitOk) return code;
    }
    if (!options_.expect_equal.empty()) {
      if (const int code = CompareWithExpected(**module); code != kExitOk) return code;
    }
    ++module_number_;
    if (options_.disable_output || options_.verify_only) return kExitOk;
    return Show(input, **module);
  }

  // Without --passes: those that a reproducer asks for, or those of the platform.
  int DefaultPasses(const InputText& input) {
    pipeline_.clear();
    if (const auto words = ReproducerFlags(input.source->text())) {
      WriteNote(fmt::format("hlo-opt: note: {} is a reproducer: running {}\n", input.source->name(),
                            Join(*words, " ")));
      return TakeReproducerFlags(*words);
    }
    if (options_.platform == "transforms" || options_.stage != "hlo") return kExitOk;
    return ParsePasses(fmt::format("default<{}>", options_.platform));
  }

  int TakeReproducerFlags(const std::vector<std::string>& words) {
    Flags flags("the reproducer", "", "");
    std::string passes;
    int64_t inputs = 0, seed = kDefaultSeed;
    flags.Add("passes", &passes, "PIPELINE");
    flags.Add("check-equivalence", &inputs, "N");
    flags.Add("seed", &seed, "N");
    std::vector<const char*> arguments = {"hlo-opt"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    absl::Status status = flags.Parse(static_cast<int>(arguments.size()), arguments.data());
    if (status.ok() && flags.given("check-equivalence")) status = CheckEquivalence(inputs, seed);
    return status.ok() ? ParsePasses(passes) : ReportToolError(flags_.program(), status);
  }

  absl::Status CheckEquivalence(int64_t inputs, int64_t seed) {
    if (inputs < 1 || seed < 0)
      return Error("`--check-equivalence` expects at least 1 input and a seed from 0 on");
    equivalence_.emplace(EquivalenceOptions{static_cast<uint64_t>(seed), inputs, 0, std::nullopt});
    equivalence_->AddTo(instrumentation_);
    return absl::OkStatus();
  }

  int Show(const InputText& input, const Module& module) {
    if (emit_ == "dot") {
      Emit(ToDot(module));
      return kExitOk;
    }
    if (const std::optional<SerialForm> form = FormOf(emit_)) {
      absl::StatusOr<std::string> bytes = Serialize(module, *form);
      if (!bytes.ok()) return ReportError(bytes.status(), input.source.get());
      Emit(*std::move(bytes));
      return kExitOk;
    }
    const std::string_view emit = FindStage(options_.stage, options_.platform)->emit;
    if (emit.empty() || HasPasses()) {
      Emit(ToText(module, print_));
      return kExitOk;
    }
    return ShowStage(input, module, emit);
  }

  // Stages behind the passes are those of hlo-run, which has the back ends.
  int ShowStage(const InputText& input, const Module& module, std::string_view emit) {
    std::error_code error;
    const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string program = (own.parent_path() / "hlo-run").string();
    if (error || access(program.c_str(), X_OK) != 0) {
      return ReportToolError(flags_.program(),
                             Error("stage `{}` needs hlo-run beside hlo-opt, but there is no `{}`",
                                   options_.stage, program));
    }
    absl::StatusOr<std::string> path = WriteTemporary(module);
    if (!path.ok()) return ReportToolError(flags_.program(), path.status());
    const std::string command = fmt::format("{} {} --platform={} --emit={}", SingleQuoted(program),
                                            SingleQuoted(*path), options_.platform, emit);
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr)
      return ReportToolError(flags_.program(), Error("cannot run `{}`", program));
    char buffer[1 << 16];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    const int status = pclose(pipe);
    unlink(path->c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      WriteStderr(fmt::format("note: while compiling {}\n", input.source->name()));
      return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kExitInternal);
    }
    Emit(std::move(text));
    return kExitOk;
  }

  static absl::StatusOr<std::string> WriteTemporary(const Module& module) {
    PrintOptions whole = PrintOptions::Default();
    whole.large_constants = whole.lossless = true;
    const std::string path = fmt::format("{}/hlo-opt.{}.hlo", ReproducerFolder(), getpid());
    RETURN_IF_ERROR(WriteFile(path, ToText(module, whole)));
    return path;
  }

  int CheckRoundtrip(const Module& module) const {
    PrintOptions options = print_;
    options.large_constants = true;
    const auto source =
        std::make_shared<const Source>("the printed module", ToText(module, options));
    const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(source);
    if (!again.ok()) {
      ReportError(again.status(), source.get());
      return kExitInternal;
    }
    if (ToText(**again, options) == source->text()) return kExitOk;
    WriteStderr("hlo-opt: error: the result reads back as another module\n");
    return kExitInternal;
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
    RETURN_IF_ERROR(DumpModule(module, "before_optimization"));
    if (!pipeline_.empty()) RETURN_IF_ERROR(RunPasses(input, module));
    return DumpModule(module, "after_optimization");
  }

  absl::Status RunPasses(const InputText& input, Module& module) {
    const size_t first_remark = context_.remarks().size();
    std::function<void(const FailureReport&)> on_failure;
    if (options_.reproducer && !options_.verify_diagnostics) {
      on_failure = [&](const FailureReport& failure) { WriteReproducer(input, failure); };
    }
    instrumentation_.dump_number = module_number_;
    if (equivalence_) equivalence_->Start(module);
    absl::StatusOr<PipelineResult> result =
        RunPipeline(pipeline_, module, context_, instrumentation_, on_failure);
    if (!options_.remarks.empty()) PrintRemarks(*input.source, first_remark);
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

  // What XLA writes for --xla_dump_to.
  absl::Status DumpModule(const Module& module, std::string_view suffix) const {
    if (options_.xla_dump_to.empty()) return absl::OkStatus();
    return WriteFile(fmt::format("{}/module_{:04d}.{}.{}.txt", options_.xla_dump_to, module_number_,
                                 module.name(), suffix),
                     ToText(module, print_));
  }

  // The module before the failing pass is made again: the input is read anew and the passes before
  // it are run.
  void WriteReproducer(const InputText& input, const FailureReport& failure) {
    absl::StatusOr<std::unique_ptr<Module>> module = Load(input);
    if (!module.ok()) return;
    Instrumentation before;
    before.bisect_limit = failure.passes_before;
    before.disabled = instrumentation_.disabled;
    before.only = instrumentation_.only;
    before.start_at = instrumentation_.start_at;
    before.verify_each = false;
    PassContext context;
    if (!RunPipeline(pipeline_, **module, context, before).ok()) return;
    const std::string path =
        fmt::format("{}/hlo-opt.{}.{}.repro.hlo", ReproducerFolder(), failure.pass, getpid());
    std::string words = "--passes=" + SingleQuoted(failure.pass_text);
    if (equivalence_) words += fmt::format(" --check-equivalence={}", options_.check_equivalence);
    if (equivalence_ && options_.seed != static_cast<int64_t>(kDefaultSeed))
      words += fmt::format(" --seed={}", options_.seed);
    if (WriteFile(path, ReproducerText(**module, words)).ok())
      reproducer_note_ = fmt::format("note: `hlo-opt {}` repeats this\n", path);
  }

  int RunBisect(const InputText& input) {
    const auto load = [&] { return Load(input); };
    const auto fails = [&](const Module& module) -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const std::string path, WriteTemporary(module));
      const std::string quoted = SingleQuoted(path);
      std::string command = options_.bisect;
      const size_t hole = command.find("{}");
      if (hole == std::string::npos) {
        command += " " + quoted;
      } else {
        command.replace(hole, 2, quoted);
      }
      const int status = std::system((command + " >/dev/null 2>&1").c_str());
      unlink(path.c_str());
      if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return Error("`--bisect`: there is no command `{}`", options_.bisect);
      return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    };
    Instrumentation in;
    in.verify_each = false;
    in.disabled = instrumentation_.disabled;
    const absl::StatusOr<BisectResult> result = Bisect(pipeline_, in, load, fails);
    if (!result.ok()) return ReportError(result.status(), input.source.get());
    std::string text;
    if (result->pass_number < 0) {
      text = "the command does not fail after the whole pipeline";
    } else if (result->pass_number == 0) {
      text = "the command fails on the input itself, before any pass";
    } else {
      text =
          fmt::format("the command fails from pass {} on, `{}`", result->pass_number, result->pass);
      if (result->rewrite > 0) text += fmt::format(", at its rewrite {}", result->rewrite);
      if (!result->rule.empty()) text += fmt::format(": rule {}", result->rule);
    }
    WriteStdout(fmt::format("{} ({} tries)\n", text, result->tests));
    return result->pass_number > 0 ? kExitOk : kExitMismatch;
  }

  void PrintRemarks(const Source& source, size_t first) {
    for (size_t i = first; i < context_.remarks().size(); ++i) {
      const PassContext::RemarkEntry& remark = context_.remarks()[i];
      if (!remarks_.Shows(remark)) continue;
      WriteStderr(options_.remarks_format == "yaml" ? RemarkYaml(remark, source)
                                                    : RemarkText(remark, source));
    }
  }

  // Tables behind the last input; names that were given for nothing.
  int Report() {
    const auto wanted = [](const std::string& form) { return !form.empty() && form != "false"; };
    if (wanted(options_.time_passes)) {
      WriteStderr(options_.time_passes == "json" ? TimesJson(total_) + "\n" : TimeTable(total_));
    }
    if (wanted(options_.stats))
      WriteStderr(options_.stats == "json" ? StatsJson(context_) + "\n" : StatsText(context_));
    std::set<std::string_view> ran;
    for (const PassRun& run : total_.runs) ran.insert(run.name);
    for (const std::vector<std::string>* names :
         {&instrumentation_.disabled, &instrumentation_.only}) {
      for (const std::string& name : *names) {
        if (!total_.runs.empty() && !ran.contains(name))
          WriteNote(fmt::format("hlo-opt: warning: no pass `{}` in the pipeline\n", name));
      }
    }
    if (options_.json.empty()) return kExitOk;
    const absl::Status status = WriteFile(options_.json, ReportJson(total_, context_));
    return status.ok() ? kExitOk : ReportToolError(flags_.program(), status);
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
  Pipeline pipeline_;
  PrintOptions print_;
  Instrumentation instrumentation_;
  PassContext context_;
  RemarkFilter remarks_;
  std::optional<EquivalenceCheck> equivalence_;
  bool is_incomplete_ = false;  // something could not be checked
  PipelineResult total_;
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
