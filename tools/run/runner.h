// One file on its way through the steps of hlo-run: read, prepared, compiled, run, judged. The
// functions of each step stand in a file of their own (runner_*.cc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "tools/run/buffer_plan.h"
#include "tools/run/compile_limit.h"
#include "tools/run/devices.h"
#include "tools/run/emitted_texts.h"
#include "tools/run/feed_files.h"
#include "tools/run/judge.h"
#include "tools/run/load_file.h"
#include "tools/run/memory_view.h"
#include "tools/run/mpi_transport.h"
#include "tools/run/options.h"
#include "tools/run/run_report.h"
#include "tools/run/spmd_run.h"
#include "tools/run/tolerances.h"
#include "tools/run/training_loop.h"
#include "tools/support/progress.h"
#include "tools/support/tool_support.h"

namespace hlo {

using ArgumentsByDevice = std::vector<std::vector<Literal>>;  // by device

class Runner {
 public:
  Runner(const ToolOptions& options, std::string path)
      : options_(options),
        path_(std::move(path)),
        progress_(options.show_progress),
        compile_limit_(options.compile_timeout) {}

  // The exit code.
  int Run();

 private:
  absl::Status Steps();
  bool IsFirst() const { return transport_ == nullptr || transport_->rank() == 0; }
  void Note(std::string_view text) const {
    if (IsFirst()) WriteNote(text);
  }
  // Tells the other processes of an error. True: the first one says it to the user.
  bool IsToldElsewhere(const absl::Status& status);

  // ---- before the compilation (runner_prepare.cc) ----

  // The processes of --distributed. Only the first one writes.
  absl::Status StartProcesses();
  void StopWriting();
  absl::Status Load();
  // The passes that the user wants before all others, and the devices of what they leave.
  absl::Status Prepare();
  // All partitions would do the same.
  void NoteUndivided(int64_t partitions) const;
  // With --single-shard. The user gives and gets what that device would.
  absl::Status KeepDevice();
  absl::Status RunPasses();
  // What --feed= says of a module that has not been divided yet.
  absl::StatusOr<std::vector<BufferPlan::Feed>> WholeFeeds() const;
  // What --donate= and --feed= say of this module, and what it is allowed by them.
  absl::Status PlanBuffers();
  // Files that could not be written, or read, after a long run.
  absl::Status CheckFiles();
  absl::StatusOr<ArgumentsByDevice> Inputs();
  // What the user gives and gets: several partitions of one module are one device to him.
  const Module& whole_module() const { return spmd_ ? spmd_->whole() : *module_; }
  DeviceMesh outer_mesh() const { return spmd_ ? spmd_->mesh() : mesh_; }
  // Devices of the module for one of those.
  int64_t copies() const { return mesh_.devices() / outer_mesh().devices(); }

  // ---- the compilation (runner_compile.cc) ----

  // `emitted`: where the texts of --emit go, or null.
  CompileOptions CompilerOptions(EmittedTexts* emitted) const;
  // The compilation, with what is to be seen of it.
  absl::StatusOr<std::unique_ptr<Executable>> MakeExecutable(Backend& backend,
                                                             EmittedTexts& emitted);
  // The executable of the last compilation; all of them are measured.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(Backend& backend,
                                                      const CompileOptions& compile);
  static absl::StatusOr<std::unique_ptr<Executable>> CompileOnce(Backend& backend,
                                                                 std::unique_ptr<Module> module,
                                                                 const CompileOptions& options);
  // Of a compilation of its own: what gives texts makes nothing that runs.
  absl::Status SaveTemps(Backend& backend) const;
  absl::Status ShowMemory(const Executable& executable) const;

  // ---- runs (runner_execute.cc) ----

  // A device that computes for ever in one kernel is nobody's to end but the system's.
  DeviceLimits Limits() const;
  // Of a run of the module, or of another form of it in this process.
  DeviceLimits LimitsOf(const DeviceMesh& mesh) const;
  // On the devices of the module, or of another form of it in this process.
  absl::StatusOr<std::vector<Literal>> RunDevices(const Executable& executable,
                                                  const ArgumentsByDevice& arguments,
                                                  const DeviceMesh& mesh) const;
  absl::StatusOr<std::vector<Literal>> RunOnce(const Executable& executable,
                                               const ArgumentsByDevice& arguments) const;
  absl::StatusOr<LoopResult> RunOnBuffers(const Executable& executable, ArgumentsByDevice arguments,
                                          const DeviceMesh& mesh, const LoopOptions& loop);
  absl::Status Execute(const Executable& executable, ArgumentsByDevice arguments);
  // What each device of the user has given; its partitions have given the same.
  std::vector<Outfeed> Given() const;
  // For the next checkpoint.
  absl::Status KeepOutfeed();
  absl::Status Profile(Backend& backend, const Executable& executable,
                       const ArgumentsByDevice& arguments);
  absl::Status Trace(const Executable& executable, const ArgumentsByDevice& arguments);
  absl::Status LookInside(Backend& backend, const std::vector<Literal>& arguments);
  absl::StatusOr<std::vector<Literal>> OuterResults(std::vector<Literal> by_device) const {
    if (!spmd_) return by_device;
    return spmd_->Join(by_device);
  }
  RunOptions ExecutionOptions() const {
    RunOptions run;
    run.max_loop_iterations = options_.max_loop_iterations;
    return run;
  }

  // ---- what came out (runner_judge.cc) ----

  // With --reference='COMMAND …': what it gives is expected.
  absl::Status AskReferenceCommand(Shape result_shape, Expectation& expected);
  absl::StatusOr<std::vector<Literal>> RunReference(Backend& backend,
                                                    std::unique_ptr<Module> module,
                                                    const ArgumentsByDevice& arguments);
  void Compare(const Expectation& expected, const std::vector<OutputRule>& rules);
  // Runs again, the last time compiled for one thread: every bit is to be the same.
  absl::Status CheckDeterminism(Backend& backend, const Executable& executable,
                                std::unique_ptr<Module> copy, const ArgumentsByDevice& arguments);
  absl::Status Report(const Executable& executable, const RunTimes* run);
  absl::Status WriteOutputs();
  absl::Status WriteJson() const;

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

}  // namespace hlo
