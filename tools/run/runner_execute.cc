// Runs on devices: once, in a loop, measured, traced, looked into.
#include <unistd.h>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/run/look_inside.h"
#include "tools/run/profile_report.h"
#include "tools/run/runner.h"
#include "tools/run/timeline.h"
#include "tools/run/write_results.h"
#include "tools/support/crash_reproducer.h"

namespace hlo {

DeviceLimits Runner::Limits() const {
  return {options_.collective_timeout,
          [this](const absl::Status& error) {
            if (IsFirst()) ReportError(error, source_.get());
            _exit(kExitRunFailure);
          },
          feed_.get(), distributed_.get()};
}

DeviceLimits Runner::LimitsOf(const DeviceMesh& mesh) const {
  DeviceLimits limits = Limits();
  if (mesh.devices() == mesh_.devices()) return limits;
  limits.distributed = nullptr;
  limits.feed = whole_feed_.get();
  return limits;
}

absl::StatusOr<std::vector<Literal>> Runner::RunDevices(const Executable& executable,
                                                        const ArgumentsByDevice& arguments,
                                                        const DeviceMesh& mesh) const {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<DeviceStates> states,
      DeviceStates::Make(executable, arguments, mesh, ExecutionOptions(), LimitsOf(mesh)));
  RETURN_IF_ERROR(states->Run());
  return states->Results();
}

absl::StatusOr<std::vector<Literal>> Runner::RunOnce(const Executable& executable,
                                                     const ArgumentsByDevice& arguments) const {
  ASSIGN_OR_RETURN(std::vector<Literal> results, RunDevices(executable, arguments, mesh_));
  return OuterResults(std::move(results));
}

absl::StatusOr<LoopResult> Runner::RunOnBuffers(const Executable& executable,
                                                ArgumentsByDevice arguments, const DeviceMesh& mesh,
                                                const LoopOptions& loop) {
  return RunLoop(executable, std::move(arguments), *buffers_, loop,
                 {mesh, ExecutionOptions(), LimitsOf(mesh)}, progress_);
}

absl::Status Runner::Execute(const Executable& executable, ArgumentsByDevice arguments) {
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
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceStates> state,
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

std::vector<Outfeed> Runner::Given() const {
  std::vector<Outfeed> given;
  for (int64_t device = 0; feed_ != nullptr && device < outer_mesh().devices(); ++device)
    given.push_back(feed_->given(device * copies()));
  return given;
}

absl::Status Runner::KeepOutfeed() {
  RETURN_IF_ERROR(WriteOutfeed(Given(), options_.outfeed_dir, outer_mesh()));
  feed_->Drop();
  return absl::OkStatus();
}

absl::Status Runner::Profile(Backend& backend, const Executable& executable,
                             const ArgumentsByDevice& arguments) {
  const CrashLine line("profiling on platform", options_.platform);
  progress_.Stage("profiling");
  running_ = true;
  const bool is_measured = options_.iterations > 0 && !buffers_;  // else they are steps
  ProfileOptions profiled{mesh_, ExecutionOptions(), Limits(), options_.bench_min_runs};
  if (is_measured) profiled.min_runs = options_.iterations;
  if (options_.platform == "gpu-sim") {
    for (const auto& file : options_.profile_files) {
      if (file.form.ends_with(".trace.json") || file.form.ends_with(".svg"))
        return Error(
            "`{}`: platform gpu-sim has no times to draw; a table, .json and .csv say what its "
            "operations do",
            file.file);
    }
    const std::string& device = options_.gpu_properties.device;
    ASSIGN_OR_RETURN(profiled.simulated, FindGpuDevice(device.empty() ? "h100_sxm" : device));
  }
  ASSIGN_OR_RETURN(const hlo::Profile profile,
                   TakeProfile(backend, executable, arguments, CompilerOptions(nullptr), profiled));
  running_ = false;
  progress_.Stage("");
  for (const auto& file : options_.profile_files)
    RETURN_IF_ERROR(WriteFile(file.file, ProfileText(profile, file.form)));
  return absl::OkStatus();
}

absl::Status Runner::Trace(const Executable& executable, const ArgumentsByDevice& arguments) {
  const CrashLine line("tracing on platform", options_.platform);
  progress_.Stage("tracing");
  running_ = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceStates> states,
                   DeviceStates::Make(executable, arguments, mesh_, ExecutionOptions(), Limits()));
  ASSIGN_OR_RETURN(const std::vector<TraceProcess> processes,
                   TakeTimeline(executable, *states, mesh_));
  running_ = false;
  progress_.Stage("");
  return WriteFile(options_.trace, TraceText(processes));
}

absl::Status Runner::LookInside(Backend& backend, const std::vector<Literal>& arguments) {
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

}  // namespace hlo
