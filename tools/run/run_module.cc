#include "tools/run/run_module.h"

#include "lib/support/code_listener.h"
#include "lib/support/status.h"
#include "passes/buffers/buffers_to_arrays.h"
#include "tools/run/memory_limit.h"
#include "tools/run/runner.h"
#include "tools/run/tolerances.h"
#include "tools/support/crash_reproducer.h"
#include "tools/support/time_limit.h"

namespace hlo {

int Runner::Run() {
  const CrashLine line("working on", path_);
  StartTimeLimit(options_.time_limit, "hlo-run", AtLimit::kEnds);
  absl::Status status = options_.jit_symbols ? ListenForCode() : absl::OkStatus();
  if (status.ok()) status = StartProcesses();
  if (status.ok()) status = Steps();
  progress_.Stage("");
  if (status.ok()) return exit_code_;
  // mpirun gives the code of the process that ends first: they have the same.
  const int code = transport_ != nullptr && IsToldElsewhere(status) ? ExitCodeOf(status)
                   : source_ != nullptr && located_ ? ReportError(status, source_.get())
                                                    : ReportToolError("hlo-run", status);
  // What went wrong while running is no fault of the text.
  return code == kExitBadInput && running_ ? kExitRunFailure : code;
}

bool Runner::IsToldElsewhere(const absl::Status& status) {
  const bool is_known = distributed_ != nullptr && !distributed_->Failure().ok();
  if (!is_known && transport_->size() > 1) {
    if (distributed_ == nullptr)
      distributed_ =
          std::make_unique<DistributedCommunicator>(mesh_, *transport_, Limits().timeout());
    distributed_->Leave(0, status);
  }
  return transport_->rank() > 0;
}

absl::Status Runner::Steps() {
  RETURN_IF_ERROR(Load());
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(options_.platform));
  Backend* reference = nullptr;
  if (!options_.reference.empty()) {
    ASSIGN_OR_RETURN(reference, FindBackend(options_.reference));
  }
  RETURN_IF_ERROR(Prepare());
  RETURN_IF_ERROR(PlanBuffers());
  located_ = false;
  const Shape result_shape = WithoutBuffers(whole_module().entry()->root()->shape());
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
    RETURN_IF_ERROR(CheckFits(*module_, options_.platform, mesh_.devices(), options_.memory_bytes));
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
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, MakeExecutable(*backend, emitted));
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
    ASSIGN_OR_RETURN(expected.values,
                     RunReference(*reference, (spmd_ ? spmd_->whole() : *copy).Clone(), arguments));
  }
  RETURN_IF_ERROR(AskReferenceCommand(result_shape, expected));
  if (!expected.is_none()) Compare(expected, rules);
  RETURN_IF_ERROR(WriteJson());
  if (options_.check_determinism == 0) return absl::OkStatus();
  return CheckDeterminism(*backend, *executable, copy->Clone(), arguments);
}

int RunModule(const ToolOptions& options, const std::string& path) {
  return Runner(options, path).Run();
}

}  // namespace hlo
