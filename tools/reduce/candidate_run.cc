#include "tools/reduce/candidate_run.h"

#include "backends/registry.h"
#include "lib/ir/verifier.h"
#include "lib/support/status.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/support/compare_values.h"
#include "tools/support/equivalence.h"
#include "tools/support/runnable.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

absl::Status RunPasses(Module& module, const CandidateRun& run) {
  PassContext context;
  LimitRewrites(run.limits, context);
  Instrumentation instrumentation;
  instrumentation.bisect_limit = run.limits.passes;
  return RunPipeline(*run.pipeline, module, context, instrumentation).status();
}

absl::Status ComparePasses(Module& module, const CandidateRun& run) {
  EquivalenceOptions options;
  options.first_seed = run.seed;
  options.seeds = run.seeds;
  options.tolerance = run.tolerance;
  ASSIGN_OR_RETURN(const ReferenceRuns before, ReferenceRuns::Make(module, options));
  RETURN_IF_ERROR(RunPasses(module, run));
  ASSIGN_OR_RETURN(const std::string difference, before.Compare(module, SafetyOf(*run.pipeline)));
  if (difference.empty()) {
    // The log of a run in which nothing failed is shown when it is the first one.
    if (const auto [nans, all] = before.CountNans(); nans > 0)
      WriteStderr(fmt::format("{} of {} values are NaN, which hides differences\n", nans, all));
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kDataLoss, SourceLoc(), difference);
}

absl::StatusOr<std::unique_ptr<Executable>> CompileFor(std::string_view platform,
                                                       const Module& module, Denormals denormals) {
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(platform));
  CompileOptions options;
  options.denormals = denormals;
  return backend->Compile(module.Clone(), options);
}

absl::Status RunOnPlatform(const Module& module, const CandidateRun& run) {
  RETURN_IF_ERROR(VerifyRunnable(module));
  // As hlo-run: the reference treats denormals as the platform does.
  const Denormals denormals = DefaultDenormals(run.platform);
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   CompileFor(run.platform, module, denormals));
  std::unique_ptr<Executable> reference;
  if (run.compares_results) {
    ASSIGN_OR_RETURN(reference, CompileFor("interpreter", module, denormals));
  }
  for (int64_t i = 0; i < run.seeds; ++i) {
    const std::vector<Literal> arguments =
        RandomArguments(module, run.seed + static_cast<uint64_t>(i));
    ASSIGN_OR_RETURN(const Literal actual, executable->Run(arguments, {}));
    if (reference == nullptr) continue;
    ASSIGN_OR_RETURN(const Literal expected, reference->Run(arguments, {}));
    const Verdict verdict = CompareOutputs(actual, expected, run.tolerance);
    if (!verdict.ok) return MakeError(absl::StatusCode::kDataLoss, SourceLoc(), verdict.report);
  }
  return absl::OkStatus();
}

absl::Status RunSteps(Module& module, const CandidateRun& run) {
  if (run.platform.empty())
    return run.compares_results ? ComparePasses(module, run) : RunPasses(module, run);
  RETURN_IF_ERROR(RunPasses(module, run));
  return RunOnPlatform(module, run);
}

}  // namespace

void LimitRewrites(const PassLimits& limits, PassContext& context) {
  if (limits.rewrites < 0) return;
  context.set_may_rewrite([&context, limits, made = int64_t{0}]() mutable {
    return context.pass_number() != limits.passes || made++ < limits.rewrites;
  });
}

int RunCandidate(const std::string& text, const CandidateRun& run) {
  const auto source = std::make_shared<const Source>("<candidate>", text);
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source);
  absl::Status status = module.status();
  if (status.ok()) status = Verify(**module);
  if (!status.ok()) {
    ReportError(status, source.get());
    return kExitNotReadable;
  }
  status = RunSteps(**module, run);
  return status.ok() ? kExitOk : ReportError(status, source.get());
}

}  // namespace hlo
