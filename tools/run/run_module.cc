#include "tools/run/run_module.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "backends/codegen_times.h"
#include "backends/registry.h"
#include "lib/ir/compare.h"
#include "lib/support/code_listener.h"
#include "lib/support/contains.h"
#include "lib/support/file.h"
#include "lib/support/hash.h"
#include "lib/support/status.h"
#include "lib/support/time_trace.h"
#include "passes/pass_manager.h"
#include "tools/run/compare_outputs.h"
#include "tools/run/compile_limit.h"
#include "tools/run/devices.h"
#include "tools/run/donation_check.h"
#include "tools/run/emitted_texts.h"
#include "tools/run/feed_files.h"
#include "tools/run/inputs.h"
#include "tools/run/judge.h"
#include "tools/run/load_file.h"
#include "tools/run/look_inside.h"
#include "tools/run/memory_limit.h"
#include "tools/run/memory_view.h"
#include "tools/run/mpi_transport.h"
#include "tools/run/pass_times.h"
#include "tools/run/profile_report.h"
#include "tools/run/reference_command.h"
#include "tools/run/refusals.h"
#include "tools/run/run_report.h"
#include "tools/run/saved_executable.h"
#include "tools/run/single_shard.h"
#include "tools/run/spmd_run.h"
#include "tools/run/timeline.h"
#include "tools/run/tolerances.h"
#include "tools/run/training_loop.h"
#include "tools/run/write_results.h"
#include "tools/run/xla_pass_flags.h"
#include "tools/support/crash_reproducer.h"
#include "tools/support/progress.h"
#include "tools/support/runnable.h"
#include "tools/support/time_limit.h"
#include "tools/support/tool_support.h"
#include "tools/support/watchdog.h"

namespace hlo {
namespace {

using ArgumentsByDevice = std::vector<std::vector<Literal>>;  // by device

// One file on its way through the steps.
class Runner {
 public:
  Runner(const ToolOptions& options, std::string path)
      : options_(options),
        path_(std::move(path)),
        progress_(options.show_progress),
        compile_limit_(options.compile_timeout) {}

  int Run() {
    const CrashLine line("working on", path_);
    StartTimeLimit(options_.time_limit, "hlo-run", AtLimit::kEnds);
    absl::Status status = options_.jit_symbols ? ListenForCode() : absl::OkStatus();
    if (status.ok()) status = StartProcesses();
    if (status.ok()) status = Steps();
    progress_.Stage("");
    if (status.ok()) return exit_code_;
    if (transport_ != nullptr && IsToldElsewhere(status))
      return running_ ? kExitRunFailure : kExitBadInput;
    const int code = source_ != nullptr && located_ ? ReportError(status, source_.get())
                                                    : ReportToolError("hlo-run", status);
    // What went wrong while running is no fault of the text.
    return code == kExitBadInput && running_ ? kExitRunFailure : code;
  }

 private:
  // The processes of --distributed. Only the first one writes.
  absl::Status StartProcesses() {
    if (options_.distributed.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(transport_, MakeMpiTransport());
    if (transport_->rank() > 0) StopWriting();
    return absl::OkStatus();
  }

  bool IsFirst() const { return transport_ == nullptr || transport_->rank() == 0; }
  void Note(std::string_view text) const {
    if (IsFirst()) WriteNote(text);
  }
  void StopWriting() {
    for (std::string* name :
         {&options_.output_dir, &options_.outfeed_dir, &options_.save_inputs, &options_.json,
          &options_.save_temps, &options_.time_trace, &options_.save_executable})
      name->clear();
    options_.memory_files.clear();
    options_.outputs.clear();
    options_.time = false;
    options_.print_outputs = PrintOutputs::kNone;
    if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
      dup2(nowhere, STDOUT_FILENO);
  }

  // Tells the other processes of an error. True: the first one says it to the user.
  bool IsToldElsewhere(const absl::Status& status) {
    const bool is_known = distributed_ != nullptr && !distributed_->Failure().ok();
    if (!is_known && transport_->size() > 1) {
      if (distributed_ == nullptr)
        distributed_ =
            std::make_unique<DistributedCommunicator>(mesh_, *transport_, Limits().timeout());
      distributed_->Leave(0, status);
    }
    return transport_->rank() > 0;
  }

  absl::Status Steps() {
    RETURN_IF_ERROR(Load());
    ASSIGN_OR_RETURN(Backend * backend, FindBackend(options_.platform));
    Backend* reference = nullptr;
    if (!options_.reference.empty()) {
      ASSIGN_OR_RETURN(reference, FindBackend(options_.reference));
    }
    RETURN_IF_ERROR(Prepare());
    RETURN_IF_ERROR(PlanBuffers());
    located_ = false;
    const Shape result_shape = whole_module().entry()->root()->shape();
    Expectation expected;
    // What can fail without the work fails before it.
    RETURN_IF_ERROR(CheckFiles());
    if (options_.start) {
      ASSIGN_OR_RETURN(start_, ReadSaved(options_.save_temps, NameOfTemps(path_), *options_.start));
    }
    ASSIGN_OR_RETURN(const std::vector<OutputRule> rules, OutputRules(options_, *module_));
    if (!options_.expected.empty()) {
      ASSIGN_OR_RETURN(expected, ReadExpectation(options_, result_shape, outer_mesh()));
    }
    ArgumentsByDevice arguments;
    if (options_.runs()) {
      located_ = true;
      RETURN_IF_ERROR(
          CheckFits(*module_, options_.platform, mesh_.devices(), options_.memory_bytes));
      RETURN_IF_ERROR(CheckPlanFits(*module_, *backend, CompilerOptions(nullptr), mesh_.devices(),
                                    options_.memory_bytes));
      located_ = false;
      const CrashLine line("making inputs");
      progress_.Stage("making inputs");
      ASSIGN_OR_RETURN(arguments, Inputs());
    }
    if (options_.first_nan || !options_.probe.empty() || !options_.isolate.empty())
      return LookInside(*backend, arguments.front());
    const bool again = reference != nullptr || options_.check_determinism > 0;
    const std::unique_ptr<Module> copy = again ? module_->Clone() : nullptr;
    EmittedTexts emitted;
    ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                     MakeExecutable(*backend, emitted));
    if (!options_.runs()) {
      if (options_.only_looks()) RETURN_IF_ERROR(emitted.Show(options_));
      RETURN_IF_ERROR(ShowMemory(*executable));
      RETURN_IF_ERROR(Report(*executable, nullptr));
      return WriteJson();
    }
    located_ = true;
    const bool kept = again || !options_.profile_files.empty() || !options_.trace.empty();
    RETURN_IF_ERROR(Execute(*executable, kept ? arguments : std::move(arguments)));
    located_ = false;
    RETURN_IF_ERROR(Report(*executable, &report_.run));
    if (!options_.profile_files.empty()) RETURN_IF_ERROR(Profile(*backend, *executable, arguments));
    if (!options_.trace.empty()) RETURN_IF_ERROR(Trace(*executable, arguments));
    RETURN_IF_ERROR(WriteOutputs());
    if (reference != nullptr) {
      ASSIGN_OR_RETURN(
          expected.values,
          RunReference(*reference, (spmd_ ? spmd_->whole() : *copy).Clone(), arguments));
    }
    RETURN_IF_ERROR(AskReferenceCommand(result_shape, expected));
    if (!expected.is_none()) Compare(expected, rules);
    RETURN_IF_ERROR(WriteJson());
    if (options_.check_determinism == 0) return absl::OkStatus();
    return CheckDeterminism(*backend, *executable, copy->Clone(), arguments);
  }

  // The compilation, with what is to be seen of it.
  absl::StatusOr<std::unique_ptr<Executable>> MakeExecutable(Backend& backend,
                                                             EmittedTexts& emitted) {
    located_ = true;
    progress_.Stage("compiling");
    if (!options_.save_temps.empty()) RETURN_IF_ERROR(SaveTemps(backend));
    CompileOptions compile = CompilerOptions(&emitted);
    CodeStore code;
    if (file_.saved) compile.code_store = file_.saved->code.get();
    if (!options_.save_executable.empty()) compile.code_store = &code;
    ASSIGN_OR_RETURN(const XlaPassFlags passes, XlaPassFlags::Make(options_, *module_));
    Instrumentation instrumentation = passes.instrumentation();
    instrumentation.on_start = [this](const PipelineItem& pass, int64_t) {
      progress_.Step("pass " + pass.name);
    };
    PassTimes times;
    if (options_.time_passes) {
      times.Attach(instrumentation);
      MeasureCodegenPasses();
    }
    compile.instrumentation = &instrumentation;
    RETURN_IF_ERROR(passes.Dump(*module_, "before_optimizations"));
    compile_limit_.Start();
    ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, Compile(backend, compile));
    compile_limit_.Stop();
    if (!options_.time_trace.empty()) {
      RETURN_IF_ERROR(WriteFile(options_.time_trace, TimeTraceText(TakeTimeTrace(), "hlo-run")));
    }
    if (options_.time_passes) WriteStderr(times.Table(executable->stats()) + CodegenPassTable());
    if (options_.require_donation && buffers_)
      RETURN_IF_ERROR(RequireDonation(*executable, *buffers_));
    RETURN_IF_ERROR(passes.Dump(executable->module(),
                                fmt::format("{}_after_optimizations", options_.platform)));
    if (!options_.save_executable.empty()) {
      ASSIGN_OR_RETURN(const std::string note,
                       SaveExecutable(*executable, backend, compile, options_.save_executable));
      Note("hlo-run: note: " + note);
    }
    return executable;
  }

  // With --reference='COMMAND …': what it gives is expected.
  absl::Status AskReferenceCommand(Shape result_shape, Expectation& expected) {
    if (options_.reference_command.empty()) return absl::OkStatus();
    progress_.Stage("running " + options_.reference_command);
    ASSIGN_OR_RETURN(ExpectedValues values,
                     RunReferenceCommand(options_.reference_command, path_, given_,
                                         result_shape.WithoutDynamic()));
    expected.values.push_back(std::move(values.value));
    expected.ignored = std::move(values.ignored);
    return absl::OkStatus();
  }

  // Runs again, the last time compiled for one thread: every bit is to be the same.
  absl::Status CheckDeterminism(Backend& backend, const Executable& executable,
                                std::unique_ptr<Module> copy, const ArgumentsByDevice& arguments) {
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
      WriteStdout(fmt::format(
          "{}run {}{} gives other bits\n{}", DeviceHeading(outer_mesh(), device), run,
          is_last ? ", with one thread," : "", CompareOutputs(*now, *before, Tolerance()).report));
      exit_code_ = kExitMismatch;
      return absl::OkStatus();
    }
    WriteStdout(fmt::format("{} runs agree in every bit, the last with one thread\n",
                            options_.check_determinism));
    return absl::OkStatus();
  }

  absl::Status LookInside(Backend& backend, const std::vector<Literal>& arguments) {
    const CrashLine line("looking at the values inside");
    progress_.Stage("evaluating");
    located_ = running_ = true;
    LookInsideOptions options{options_.first_nan, options_.probe, options_.isolate, std::nullopt,
                              CompilerOptions(nullptr)};
    if (options_.has_tolerance()) options.tolerance = options_.tolerance();
    ASSIGN_OR_RETURN(const hlo::LookInside seen,
                     LookIntoModule(*module_, arguments, backend, options));
    located_ = running_ = false;
    progress_.Stage("");
    WriteStdout(seen.text);
    if (seen.different > 0) exit_code_ = kExitMismatch;
    return absl::OkStatus();
  }

  // The executable of the last compilation; all of them are measured.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(Backend& backend,
                                                      const CompileOptions& compile) {
    const Watchdog watchdog("hlo-run");
    // Not a part of any compilation; what is wrong with it, compiling says.
    if (compile.emit.empty()) backend.Open().IgnoreError();
    std::vector<double> times;
    const auto timed = [&](std::unique_ptr<Module> module) {
      const double start = Now();
      auto executable = CompileOnce(backend, std::move(module), compile);
      times.push_back(extra_passes_ms_ + Now() - start);
      return executable;
    };
    for (int64_t i = 1; i < options_.bench_compiles; ++i)
      RETURN_IF_ERROR(timed(module_->Clone()).status());
    auto executable = timed(std::move(module_));
    report_.compile_ms = Summarise(std::move(times)).median;
    return executable;
  }

  absl::Status Load() {
    progress_.Stage("parsing " + path_);
    if (!options_.time_trace.empty()) StartTimeTrace();
    const absl::Status status = LoadFile(options_, path_, file_);
    source_ = file_.source;
    located_ = source_ != nullptr;
    RETURN_IF_ERROR(status);
    module_ = std::move(file_.module);
    report_.parse_ms = file_.parse_ms;
    for (const std::string& note : file_.notes) Note("hlo-run: note: " + note + "\n");
    return absl::OkStatus();
  }

  // The passes that the user wants before all others, and the devices of what they leave.
  absl::Status Prepare() {
    RETURN_IF_ERROR(RunPasses());
    if (options_.spmd) {
      progress_.Stage("partitioning");
      if (options_.single_shard.empty()) {
        ASSIGN_OR_RETURN(const std::vector<BufferPlan::Feed> feeds, WholeFeeds());
        ASSIGN_OR_RETURN(spmd_, SpmdRun::Make(*module_, feeds));
      } else {
        RETURN_IF_ERROR(DivideByShardings(*module_));
      }
    }
    if (!options_.single_shard.empty()) RETURN_IF_ERROR(KeepDevice());
    const bool is_given =
        options_.num_replicas > 0 || options_.num_partitions > 0 || spmd_.has_value();
    const int64_t partitions = module_->config().num_partitions;
    ASSIGN_OR_RETURN(mesh_, ChooseDevices(*module_, is_given));
    if (mesh_.partitions < partitions) NoteUndivided(partitions);
    if (Feeds(*module_)) {
      ASSIGN_OR_RETURN(feed_, FeedFiles::Make(options_.infeed, outer_mesh(), copies()));
      if (spmd_) {
        ASSIGN_OR_RETURN(whole_feed_, FeedFiles::Make(options_.infeed, outer_mesh()));
      }
    } else if (!options_.infeed.empty() || !options_.outfeed_dir.empty()) {
      return Error("module `{}` has no infeed or outfeed for --infeed and --outfeed-dir",
                   module_->name());
    }
    if (transport_ != nullptr) {
      RETURN_IF_ERROR(RefuseOneProcessFlags(options_, feed_ != nullptr));
      distributed_ =
          std::make_unique<DistributedCommunicator>(mesh_, *transport_, Limits().timeout());
    }
    return mesh_.devices() == 1 ? absl::OkStatus()
                                : RefuseOneDeviceFlags(options_, *module_, mesh_.devices());
  }

  // All partitions would do the same.
  void NoteUndivided(int64_t partitions) const {
    const Instruction* const divided = FirstDivided(*module_);
    if (divided == nullptr) return;
    Note(fmt::format(
        "hlo-run: note: shardings divide `{}` and perhaps others among {} partitions, but one "
        "device computes the whole; --spmd runs them all\n",
        divided->name(), partitions));
  }

  // With --single-shard. The user gives and gets what that device would.
  absl::Status KeepDevice() {
    ASSIGN_OR_RETURN(const int64_t replaced,
                     KeepSingleShard(*module_, std::stoll(options_.single_shard)));
    Note(fmt::format(
        "hlo-run: note: device {} alone: {} operation{} that would meet others replaced by its own "
        "values; results mean nothing\n",
        options_.single_shard, replaced, replaced == 1 ? "" : "s"));
    return absl::OkStatus();
  }

  // What the user gives and gets: several partitions of one module are one device to him.
  const Module& whole_module() const { return spmd_ ? spmd_->whole() : *module_; }
  DeviceMesh outer_mesh() const { return spmd_ ? spmd_->mesh() : mesh_; }
  // Devices of the module for one of those.
  int64_t copies() const { return mesh_.devices() / outer_mesh().devices(); }
  absl::StatusOr<std::vector<Literal>> OuterResults(std::vector<Literal> by_device) const {
    if (!spmd_) return by_device;
    return spmd_->Join(by_device);
  }

  absl::Status RunPasses() {
    if (options_.passes.empty()) return absl::OkStatus();
    progress_.Stage("passes");
    const Source pipeline_source("--passes", options_.passes);
    absl::StatusOr<Pipeline> pipeline =
        options_.gpu_pass_flags.Parse(options_.passes, options_.gpu_properties);
    if (!pipeline.ok()) {
      source_ = std::make_shared<const Source>(pipeline_source);
      return pipeline.status();
    }
    const double start = Now();
    PassContext context;
    Instrumentation instrumentation;
    instrumentation.on_start = [this](const PipelineItem& pass, int64_t) {
      progress_.Step("pass " + pass.name);
    };
    compile_limit_.Start();
    ASSIGN_OR_RETURN(const PipelineResult result,
                     RunPipeline(*pipeline, *module_, context, instrumentation));
    compile_limit_.Stop();
    extra_passes_ms_ = Now() - start - result.verify_milliseconds;
    RETURN_IF_ERROR(VerifyRunnable(*module_));
    extra_verify_ms_ = Now() - start - extra_passes_ms_;
    return absl::OkStatus();
  }

  // What --feed= says of a module that has not been divided yet.
  absl::StatusOr<std::vector<BufferPlan::Feed>> WholeFeeds() const {
    if (options_.feed.empty()) return std::vector<BufferPlan::Feed>();
    const std::unique_ptr<Module> whole = module_->Clone();
    ASSIGN_OR_RETURN(BufferPlan plan, MakeBufferPlan(*whole, options_.donate, options_.feed,
                                                     std::max<int64_t>(options_.iterations, 1)));
    return std::move(plan.feeds);
  }

  // What --donate= and --feed= say of this module, and what it is allowed by them.
  absl::Status PlanBuffers() {
    if (!options_.uses_buffers()) return absl::OkStatus();
    loop_.steps = std::max<int64_t>(options_.iterations, 1);
    ASSIGN_OR_RETURN(buffers_,
                     MakeBufferPlan(*module_, options_.donate, options_.feed, loop_.steps));
    loop_.module = HashBytes(options_.feed, ContentHash(*module_));
    return spmd_ ? spmd_->CheckFeeds(*module_, buffers_->feeds) : absl::OkStatus();
  }

  // Files that could not be written, or read, after a long run.
  absl::Status CheckFiles() {
    RETURN_IF_ERROR(
        CheckDestinations(options_, whole_module().entry()->root()->shape().WithoutDynamic()));
    if (!options_.xla_memory.empty()) {
      const std::string name = std::filesystem::path(path_).stem().string();
      ASSIGN_OR_RETURN(xla_memory_, ReadXlaMemory(options_.xla_memory, name));
      if (!xla_memory_) {
        Note(fmt::format("hlo-run: note: `{}` says nothing of `{}`\n", options_.xla_memory, name));
      }
    }
    if (!options_.baseline.empty()) {
      ASSIGN_OR_RETURN(baseline_, ReadBaseline(options_.baseline));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::unique_ptr<Executable>> CompileOnce(Backend& backend,
                                                                 std::unique_ptr<Module> module,
                                                                 const CompileOptions& options) {
    const CrashLine line("compiling for platform", backend.name());
    const TimeSpan span("compile", backend.name());
    return backend.Compile(std::move(module), options);
  }

  absl::StatusOr<ArgumentsByDevice> Inputs() {
    InputSources sources{options_.inputs,     options_.input_dir,     options_.inputs_from,
                         options_.seed_value, options_.input_dists,   options_.input_ranges,
                         file_.recorded,      options_.explain_inputs};
    ASSIGN_OR_RETURN(
        DeviceArguments arguments,
        MakeDeviceArguments(whole_module(), sources, outer_mesh(), options_.shared_inputs));
    progress_.Stage("");
    RETURN_IF_ERROR(WriteByDevice(arguments.values, options_.save_inputs, outer_mesh(), "arg"));
    if (!options_.reference_command.empty()) given_ = arguments.values.front();
    for (const std::string& note : arguments.notes) Note("hlo-run: note: " + note + "\n");
    if (spmd_) return spmd_->Cut(*module_, std::move(arguments.values));
    return std::move(arguments.values);
  }

  absl::Status WriteOutputs() {
    if (options_.fail_on_nan) {
      const std::string nans = OutputsWithNan(results_, outer_mesh());
      WriteStderr(nans);
      if (!nans.empty()) exit_code_ = kExitMismatch;
    }
    return WriteResults(options_, results_, outfeed_, outer_mesh());
  }

  // What each device of the user has given; its partitions have given the same.
  std::vector<Outfeed> Given() const {
    std::vector<Outfeed> given;
    for (int64_t device = 0; feed_ != nullptr && device < outer_mesh().devices(); ++device)
      given.push_back(feed_->given(device * copies()));
    return given;
  }

  // For the next checkpoint.
  absl::Status KeepOutfeed() {
    RETURN_IF_ERROR(WriteOutfeed(Given(), options_.outfeed_dir, outer_mesh()));
    feed_->Drop();
    return absl::OkStatus();
  }

  // `emitted`: where the texts of --emit go, or null.
  CompileOptions CompilerOptions(EmittedTexts* emitted) const {
    CompileOptions compile =
        hlo::CompilerOptions(options_, DenormalsOf(options_, options_.platform));
    // A profile tells instructions apart.
    if (!options_.profile_files.empty()) compile.gpu.graphs = compile.gpu.merge_steps = false;
    compile.start = start_;
    if (emitted == nullptr || !options_.only_looks()) return compile;
    std::vector<EmitStage> stages = options_.emit_stages;
    if (!options_.memory_files.empty() && !Contains(stages, EmitStage::kBuffers))
      stages.push_back(EmitStage::kBuffers);
    emitted->AddTo(compile, std::move(stages), options_.kernel);
    return compile;
  }

  // Of a compilation of its own: what gives texts makes nothing that runs.
  absl::Status SaveTemps(Backend& backend) const {
    EmittedTexts texts;
    CompileOptions compile = CompilerOptions(nullptr);
    std::vector<EmitStage> stages = StagesToSave(options_.platform, options_.start);
    if (stages.empty()) return absl::OkStatus();
    texts.AddTo(compile, std::move(stages));
    RETURN_IF_ERROR(CompileOnce(backend, module_->Clone(), compile).status());
    return texts.Save(options_.save_temps, NameOfTemps(path_));
  }

  absl::Status ShowMemory(const Executable& executable) const {
    if (options_.memory_files.empty()) return absl::OkStatus();
    MemoryView view{.platform = options_.platform, .devices = mesh_.devices(), .xla = xla_memory_};
    ASSIGN_OR_RETURN(view.report, MakeMemoryReport(executable));
    if (buffers_) view.given = buffers_->donated;
    for (const std::string& file : options_.memory_files)
      RETURN_IF_ERROR(WriteFile(file, MemoryText(view, file)));
    return absl::OkStatus();
  }

  RunOptions ExecutionOptions() const {
    RunOptions run;
    run.max_loop_iterations = options_.max_loop_iterations;
    return run;
  }

  // A device that computes for ever in one kernel is nobody's to end but the system's.
  DeviceLimits Limits() const {
    return {options_.collective_timeout,
            [this](const absl::Status& error) {
              if (IsFirst()) ReportError(error, source_.get());
              _exit(kExitRunFailure);
            },
            feed_.get(), distributed_.get()};
  }

  // Of a run of the module, or of another form of it in this process.
  DeviceLimits LimitsOf(const DeviceMesh& mesh) const {
    DeviceLimits limits = Limits();
    if (mesh.devices() == mesh_.devices()) return limits;
    limits.distributed = nullptr;
    limits.feed = whole_feed_.get();
    return limits;
  }

  // On the devices of the module, or of another form of it in this process.
  absl::StatusOr<std::vector<Literal>> RunDevices(const Executable& executable,
                                                  const ArgumentsByDevice& arguments,
                                                  const DeviceMesh& mesh) const {
    ASSIGN_OR_RETURN(
        const std::unique_ptr<DeviceStates> states,
        DeviceStates::Make(executable, arguments, mesh, ExecutionOptions(), LimitsOf(mesh)));
    RETURN_IF_ERROR(states->Run());
    return states->Results();
  }

  absl::StatusOr<std::vector<Literal>> RunOnce(const Executable& executable,
                                               const ArgumentsByDevice& arguments) const {
    ASSIGN_OR_RETURN(std::vector<Literal> results, RunDevices(executable, arguments, mesh_));
    return OuterResults(std::move(results));
  }

  absl::Status Execute(const Executable& executable, ArgumentsByDevice arguments) {
    const CrashLine line("running on platform", options_.platform);
    progress_.Stage("running");
    running_ = true;
    located_ = true;  // what cannot be evaluated has a place
    if (buffers_) {
      LoopOptions loop = loop_;
      loop.checkpoint = options_.checkpoint;
      loop.every = options_.checkpoint_every;
      loop.resume = options_.resume;
      if (feed_ != nullptr && !options_.outfeed_dir.empty())
        loop.keep_outfeed = [this] { return KeepOutfeed(); };
      ASSIGN_OR_RETURN(LoopResult run, RunOnBuffers(executable, std::move(arguments), mesh_, loop));
      for (const std::string& note : run.notes) Note("hlo-run: note: " + note);
      report_.run = Summarise({run.milliseconds});
      ASSIGN_OR_RETURN(results_, OuterResults(std::move(run.values)));
      outfeed_ = Given();
      running_ = located_ = false;
      return absl::OkStatus();
    }
    const double prepare = Now();
    ASSIGN_OR_RETURN(
        const std::unique_ptr<DeviceStates> state,
        DeviceStates::Make(executable, arguments, mesh_, ExecutionOptions(), Limits()));
    report_.inputs_ms = Now() - prepare;
    if (options_.bench) {
      ASSIGN_OR_RETURN(report_.run,
                       Bench(*state, {options_.bench_min_runs, options_.bench_min_seconds,
                                      options_.warmup, options_.iterations}));
      if (report_.run.is_interrupted) {
        exit_code_ = kExitInterrupted;
      } else if (options_.iterations == 0) {
        ASSIGN_OR_RETURN(report_.many_runs_ms,
                         BenchManyRuns(*state, {options_.bench_min_runs, options_.bench_min_seconds,
                                                options_.warmup, options_.iterations}));
      }
    } else {
      const double start = Now();
      RETURN_IF_ERROR(state->Run());
      report_.run = Summarise({Now() - start});
    }
    const double finish = Now();
    ASSIGN_OR_RETURN(std::vector<Literal> results, state->Results());
    report_.outputs_ms = Now() - finish;
    report_.has_transfers = options_.transfers;
    ASSIGN_OR_RETURN(results_, OuterResults(std::move(results)));
    outfeed_ = Given();  // of the first run: others may follow
    running_ = located_ = false;
    return absl::OkStatus();
  }

  absl::StatusOr<LoopResult> RunOnBuffers(const Executable& executable, ArgumentsByDevice arguments,
                                          const DeviceMesh& mesh, const LoopOptions& loop) {
    return RunLoop(executable, std::move(arguments), *buffers_, loop,
                   {mesh, ExecutionOptions(), LimitsOf(mesh)}, progress_);
  }

  absl::Status Report(const Executable& executable, const RunTimes* run) {
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

  absl::Status Profile(Backend& backend, const Executable& executable,
                       const ArgumentsByDevice& arguments) {
    const CrashLine line("profiling on platform", options_.platform);
    progress_.Stage("profiling");
    running_ = true;
    const bool is_measured = options_.iterations > 0 && !buffers_;  // else they are steps
    ProfileOptions profiled{mesh_, ExecutionOptions(), Limits(), options_.bench_min_runs};
    if (is_measured) profiled.min_runs = options_.iterations;
    ASSIGN_OR_RETURN(const hlo::Profile profile, TakeProfile(backend, executable, arguments,
                                                             CompilerOptions(nullptr), profiled));
    running_ = false;
    progress_.Stage("");
    for (const auto& file : options_.profile_files)
      RETURN_IF_ERROR(WriteFile(file.file, ProfileText(profile, file.form)));
    return absl::OkStatus();
  }

  absl::Status Trace(const Executable& executable, const ArgumentsByDevice& arguments) {
    const CrashLine line("tracing on platform", options_.platform);
    progress_.Stage("tracing");
    running_ = true;
    ASSIGN_OR_RETURN(
        const std::unique_ptr<DeviceStates> states,
        DeviceStates::Make(executable, arguments, mesh_, ExecutionOptions(), Limits()));
    ASSIGN_OR_RETURN(const std::vector<TraceProcess> processes,
                     TakeTimeline(executable, *states, mesh_));
    running_ = false;
    progress_.Stage("");
    return WriteFile(options_.trace, TraceText(processes));
  }

  absl::StatusOr<std::vector<Literal>> RunReference(Backend& backend,
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

  void Compare(const Expectation& expected, const std::vector<OutputRule>& rules) {
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

  absl::Status WriteJson() const {
    return options_.json.empty() ? absl::OkStatus() : WriteFile(options_.json, ToJson(report_));
  }

  ToolOptions options_;
  const std::string path_;
  Progress progress_;
  CompileLimit compile_limit_;
  std::shared_ptr<const Source> source_;
  LoadedFile file_;  // but for its module
  std::unique_ptr<Module> module_;
  double extra_passes_ms_ = 0, extra_verify_ms_ = 0;  // of --passes
  std::optional<Baseline> baseline_;
  std::optional<XlaMemory> xla_memory_;
  std::optional<StageText> start_;     // with --start-stage
  std::optional<BufferPlan> buffers_;  // with --donate or --feed
  LoopOptions loop_;
  RunReport report_;
  DeviceMesh mesh_;
  // Of --distributed; in this order: the last one goes first.
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<DistributedCommunicator> distributed_;
  std::optional<SpmdRun> spmd_;            // with --spmd
  std::vector<Literal> results_;           // by device
  std::unique_ptr<FeedFiles> feed_;        // of modules that feed
  std::unique_ptr<FeedFiles> whole_feed_;  // with --spmd: of the whole module
  std::vector<Outfeed> outfeed_;           // by device, or nothing
  std::vector<Literal> given_;             // all of them, for --reference='COMMAND …'
  bool located_ = false;                   // errors have places in source_
  bool running_ = false;
  int exit_code_ = kExitOk;
};

}  // namespace

int RunModule(const ToolOptions& options, const std::string& path) {
  return Runner(options, path).Run();
}

}  // namespace hlo
