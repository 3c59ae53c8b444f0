// The compilation, and what is to be seen of it.
#include <fmt/format.h>

#include "backends/codegen_times.h"
#include "lib/support/contains.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/time_trace.h"
#include "tools/run/donation_check.h"
#include "tools/run/pass_times.h"
#include "tools/run/runner.h"
#include "tools/run/saved_executable.h"
#include "tools/run/timeline.h"
#include "tools/run/xla_pass_flags.h"
#include "tools/support/crash_reproducer.h"
#include "tools/support/watchdog.h"

namespace hlo {

CompileOptions Runner::CompilerOptions(EmittedTexts* emitted) const {
  CompileOptions compile = hlo::CompilerOptions(options_, DenormalsOf(options_, options_.platform));
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

absl::StatusOr<std::unique_ptr<Executable>> Runner::MakeExecutable(Backend& backend,
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
  RETURN_IF_ERROR(
      passes.Dump(executable->module(), fmt::format("{}_after_optimizations", options_.platform)));
  if (!options_.save_executable.empty()) {
    ASSIGN_OR_RETURN(const std::string note,
                     SaveExecutable(*executable, backend, compile, options_.save_executable));
    Note("hlo-run: note: " + note);
  }
  return executable;
}

absl::StatusOr<std::unique_ptr<Executable>> Runner::Compile(Backend& backend,
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

absl::StatusOr<std::unique_ptr<Executable>> Runner::CompileOnce(Backend& backend,
                                                                std::unique_ptr<Module> module,
                                                                const CompileOptions& options) {
  const CrashLine line("compiling for platform", backend.name());
  const TimeSpan span("compile", backend.name());
  return backend.Compile(std::move(module), options);
}

absl::Status Runner::SaveTemps(Backend& backend) const {
  EmittedTexts texts;
  CompileOptions compile = CompilerOptions(nullptr);
  std::vector<EmitStage> stages = StagesToSave(options_.platform, options_.start);
  if (stages.empty()) return absl::OkStatus();
  texts.AddTo(compile, std::move(stages));
  RETURN_IF_ERROR(CompileOnce(backend, module_->Clone(), compile).status());
  return texts.Save(options_.save_temps, NameOfTemps(path_));
}

absl::Status Runner::ShowMemory(const Executable& executable) const {
  if (options_.memory_files.empty()) return absl::OkStatus();
  MemoryView view{.platform = options_.platform, .devices = mesh_.devices(), .xla = xla_memory_};
  ASSIGN_OR_RETURN(view.report, MakeMemoryReport(executable));
  if (buffers_) view.given = buffers_->donated;
  for (const std::string& file : options_.memory_files)
    RETURN_IF_ERROR(WriteFile(file, MemoryText(view, file)));
  return absl::OkStatus();
}

}  // namespace hlo
