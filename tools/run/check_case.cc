#include "tools/run/check_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/registry.h"
#include "lib/ir/verify_meaning.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/pass_manager.h"
#include "tools/run/bench.h"
#include "tools/run/compare_outputs.h"
#include "tools/run/devices.h"
#include "tools/run/inputs.h"
#include "tools/run/spmd_run.h"
#include "tools/support/elided.h"
#include "tools/support/runnable.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

using Outcome = CheckResult::Outcome;

// The message with its place, in one line.
std::string OneLine(const absl::Status& status, const Source* source) {
  std::string text = Render(status, source);
  text = text.substr(0, text.find('\n'));
  return text;
}

CheckResult Failed(const absl::Status& status, const Source* source) {
  // What the platform cannot do yet, or a platform that this machine does not have.
  const bool is_unsupported = status.code() == absl::StatusCode::kUnimplemented ||
                              status.code() == absl::StatusCode::kUnavailable;
  return {is_unsupported ? Outcome::kSkipped : Outcome::kFailed, OneLine(status, source)};
}

// The first line that tells of a difference, with what follows it.
std::string FirstDifference(const std::string& report) {
  const std::vector<std::string_view> lines = Split(report, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].find("elements agree ") != std::string_view::npos) continue;
    std::string text(lines[i]);
    if (i + 1 < lines.size() && !lines[i + 1].empty()) text += ";" + std::string(lines[i + 1]);
    return text;
  }
  return report;
}

// What `--passes` makes of the module.
absl::Status RunGivenPasses(const ToolOptions& options, Module& module) {
  if (options.passes.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   options.gpu_pass_flags.Parse(options.passes, options.gpu_properties));
  PassContext context;
  RETURN_IF_ERROR(RunPipeline(pipeline, module, context).status());
  return VerifyRunnable(module);
}

// A run on all devices.
absl::StatusOr<std::vector<Literal>> RunAll(const Executable& executable,
                                            const std::vector<std::vector<Literal>>& arguments,
                                            const DeviceMesh& mesh, const ToolOptions& options) {
  RunOptions run;
  run.max_loop_iterations = options.max_loop_iterations;
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceStates> states,
                   DeviceStates::Make(executable, arguments, mesh, run));
  RETURN_IF_ERROR(states->Run());
  return states->Results();
}

// One part of a file on one platform.
class PartChecker {
 public:
  PartChecker(const InputText& input, const std::string& platform, const ToolOptions& options)
      : input_(input), platform_(platform), options_(options) {}

  CheckResult Run() {
    absl::StatusOr<CheckDirectives> directives = ParseDirectives(input_.source->text());
    if (!directives.ok()) return Failed(directives.status(), input_.source.get());
    directives_ = *std::move(directives);
    const std::vector<std::string>& wanted = directives_.platforms;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), platform_) == wanted.end()) {
      return {Outcome::kNotMeant, "not meant for this platform"};
    }
    std::string difference;
    const absl::Status status = Steps(difference);
    // A platform that this machine does not have says nothing about the file.
    if (status.code() == absl::StatusCode::kUnavailable) return Failed(status, input_.source.get());
    if (!directives_.expected_error.empty()) return JudgeError(status);
    if (!status.ok()) return Failed(status, input_.source.get());
    if (!difference.empty())
      return {Outcome::kFailed, fmt::format("{}: {}", input_.source->name(), difference)};
    const bool compares = platform_ != "interpreter" || !options_.passes.empty() ||
                          std::any_of(directives_.runs.begin(), directives_.runs.end(),
                                      [](const CheckRun& run) { return !run.expected.empty(); });
    if (!compares) return {Outcome::kRan, "nothing is expected here, and nothing was compared"};
    return {};
  }

 private:
  CheckResult JudgeError(const absl::Status& status) const {
    if (status.ok())
      return {Outcome::kFailed,
              fmt::format("{}: no error, expected `{}`", input_.path, directives_.expected_error)};
    for (const Diagnostic& diagnostic : DiagnosticsOf(status)) {
      if (diagnostic.message.find(directives_.expected_error) != std::string::npos) return {};
    }
    // Refused before the expected error could show.
    if (status.code() == absl::StatusCode::kUnimplemented)
      return Failed(status, input_.source.get());
    return {Outcome::kFailed,
            fmt::format("{} (expected `{}`)", OneLine(status, input_.source.get()),
                        directives_.expected_error)};
  }

  absl::Status Steps(std::string& difference) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadModule(input_, Runnable()));
    RETURN_IF_ERROR(VerifyMeaning(*module));
    if (module->entry() == nullptr)
      return Error("module `{}` has no entry computation", module->name());
    ASSIGN_OR_RETURN(const DeviceMesh mesh, ChooseDevices(*module, /*is_given=*/false));
    ASSIGN_OR_RETURN(Backend * backend, FindBackend(platform_));
    const Denormals denormals = directives_.denormals.value_or(DenormalsOf(options_, platform_));
    std::unique_ptr<Module> changed = module->Clone();
    RETURN_IF_ERROR(RunGivenPasses(options_, *changed));
    ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                     backend->Compile(std::move(changed), CompilerOptions(options_, denormals)));
    for (const CheckRun& run : directives_.runs) {
      const InputSources sources{
          run.arguments, "", "",
          run.arguments.empty() ? std::optional<uint64_t>(42) : std::nullopt};
      ASSIGN_OR_RETURN(const DeviceArguments arguments,
                       MakeDeviceArguments(*module, sources, mesh, /*share_made=*/false));
      ASSIGN_OR_RETURN(const std::vector<Literal> actual,
                       RunAll(*executable, arguments.values, mesh, options_));
      std::vector<Literal> expected = actual;
      if (!run.expected.empty()) {
        ASSIGN_OR_RETURN(expected, Expected(run, mesh));
      } else if (platform_ != "interpreter" || !options_.passes.empty()) {
        ASSIGN_OR_RETURN(expected, OnInterpreter(*module, arguments.values, mesh, denormals));
      }
      for (size_t device = 0; device < actual.size(); ++device) {
        const Verdict verdict =
            CompareOutputs(actual[device], expected[device], directives_.tolerance);
        if (verdict.ok || !difference.empty()) continue;
        difference = FirstDifference(verdict.report);
        if (mesh.devices() > 1)
          difference = DeviceName(mesh, static_cast<int64_t>(device)) + ": " + difference;
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<Literal>> Expected(const CheckRun& run,
                                                       const DeviceMesh& mesh) {
    std::vector<Literal> values;
    for (int64_t device = 0; device < mesh.devices(); ++device) {
      auto text = run.expected.find(device);
      if (text == run.expected.end()) text = run.expected.find(-1);
      if (text == run.expected.end())
        return Error("no `EXPECT` says what {} gives", DeviceName(mesh, device));
      absl::StatusOr<Literal> literal = ParseShapeAndLiteral(text->second);
      if (!literal.ok())
        return Error("EXPECT `{}`: {}", text->second.substr(0, 60),
                     ToStd(literal.status().message()));
      values.push_back(*std::move(literal));
    }
    if (const int64_t last = run.expected.rbegin()->first; last >= mesh.devices())
      return Error("an `EXPECT` is for device {}, but there are {}", last, mesh.devices());
    return values;
  }

  absl::StatusOr<std::vector<Literal>> OnInterpreter(
      const Module& module, const std::vector<std::vector<Literal>>& arguments,
      const DeviceMesh& mesh, Denormals denormals) const {
    ASSIGN_OR_RETURN(Backend * interpreter, FindBackend("interpreter"));
    ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                     interpreter->Compile(module.Clone(), CompilerOptions(options_, denormals)));
    return RunAll(*executable, arguments, mesh, options_);
  }

  const InputText& input_;
  const std::string& platform_;
  const ToolOptions& options_;
  CheckDirectives directives_;
};

absl::StatusOr<CheckResult> ModelSteps(const ModelFile& model, const std::string& platform,
                                       const ToolOptions& options,
                                       std::shared_ptr<const Source>& source) {
  ASSIGN_OR_RETURN(const std::vector<InputText> inputs, ReadInputs(model.hlo, /*split=*/false));
  source = inputs.front().source;
  const double start = Now();
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadModule(inputs.front(), Runnable()));
  RETURN_IF_ERROR(VerifyMeaning(*module));
  ASSIGN_OR_RETURN(const int filled, FillElided(*module, options.fill_elided));
  static_cast<void>(filled);
  const double parsed = Now();
  std::vector<std::vector<Literal>> arguments(1);
  ASSIGN_OR_RETURN(arguments[0], MakeModelArguments(*module, model));
  RETURN_IF_ERROR(RunGivenPasses(options, *module));
  DeviceMesh mesh;
  std::optional<SpmdRun> spmd;
  if (options.spmd) {
    ASSIGN_OR_RETURN(const int64_t partitions, PartitionsByShardings(*module, 0));
    RETURN_IF_ERROR(SetDevices(*module, 0, partitions));
    ASSIGN_OR_RETURN(spmd, SpmdRun::Make(*module, {}));
    ASSIGN_OR_RETURN(arguments, spmd->Cut(*module, std::move(arguments)));
    ASSIGN_OR_RETURN(mesh, ChooseDevices(*module, /*is_given=*/true));
  }
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(platform));
  const double made = Now();
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   backend->Compile(std::move(module),
                                    CompilerOptions(options, DenormalsOf(options, platform))));
  const double compiled = Now();
  ASSIGN_OR_RETURN(std::vector<Literal> results, RunAll(*executable, arguments, mesh, options));
  if (spmd) {
    ASSIGN_OR_RETURN(results, spmd->Join(results));
  }
  const double done = Now();
  const Verdict verdict = CompareOutputs(results[0], model, options.tolerance());
  if (!verdict.ok) return CheckResult{Outcome::kFailed, FirstDifference(verdict.report)};
  return CheckResult{Outcome::kPassed,
                     fmt::format("parse {:.1f} ms, compile {:.1f} ms, run {:.1f} ms",
                                 parsed - start, compiled - made, done - compiled)};
}

}  // namespace

std::vector<CheckResult> CheckHloFile(const std::string& path, const std::string& platform,
                                      const ToolOptions& options) {
  const absl::StatusOr<std::vector<InputText>> inputs = ReadInputs(path, /*split=*/true);
  if (!inputs.ok()) return {Failed(inputs.status(), nullptr)};
  std::vector<CheckResult> results;
  for (const InputText& input : *inputs)
    results.push_back(PartChecker(input, platform, options).Run());
  return results;
}

CheckResult CheckModel(const std::string& path, const std::string& platform,
                       const ToolOptions& options) {
  const absl::StatusOr<ModelFile> model = ReadModelFile(path);
  if (!model.ok()) return {Outcome::kFailed, OneLine(model.status(), nullptr)};
  std::shared_ptr<const Source> source;
  const absl::StatusOr<CheckResult> result = ModelSteps(*model, platform, options, source);
  return result.ok() ? *result : Failed(result.status(), source.get());
}

}  // namespace hlo
