#include "tools/reduce/bug_report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>

#include "backends/doctor.h"
#include "backends/registry.h"
#include "lib/support/file.h"
#include "lib/support/file_set.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/run/npy.h"
#include "tools/support/compare_values.h"
#include "tools/support/leaves.h"
#include "tools/support/tool_support.h"
#include "tools/support/version.h"

namespace hlo {
namespace {

constexpr std::string_view kValueFiles[] = {"inputs.npz", "expected.npz", "actual.npz"};

absl::StatusOr<std::string> Archive(const std::vector<Literal>& values, std::string_view prefix) {
  std::vector<NpzMember> members;
  for (const Literal& value : values) {
    for (const Literal& leaf : ArrayLeaves(value))
      members.push_back({fmt::format("{}{}", prefix, members.size()), NpyText(leaf)});
  }
  return NpzText(members);
}

absl::StatusOr<Literal> RunOn(std::string_view platform, const Module& module, Denormals denormals,
                              const std::vector<Literal>& arguments) {
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(platform));
  CompileOptions options;
  options.denormals = denormals;
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   backend->Compile(module.Clone(), options));
  return executable->Run(arguments, {});
}

// In the child: the inputs first, so that they are there if what follows crashes.
absl::Status WriteValues(const std::string& folder, const std::string& text,
                         const FailureOptions& failure) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module,
                   ParseModule(std::make_shared<const Source>("reduced.hlo", text)));
  const std::unique_ptr<Module> changed = module->Clone();
  const std::string platform = failure.platform.empty() ? "interpreter" : failure.platform;
  const Denormals denormals = DefaultDenormals(platform);
  for (int64_t i = 0; i < failure.seeds; ++i) {
    const bool is_last = i + 1 == failure.seeds;
    const std::vector<Literal> arguments =
        RandomArguments(*module, failure.seed + static_cast<uint64_t>(i));
    if (i == 0) {
      ASSIGN_OR_RETURN(const std::string inputs, Archive(arguments, "arg"));
      RETURN_IF_ERROR(WriteFile(folder + "/inputs.npz", inputs));
      ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(failure.passes));
      PassContext context;
      RETURN_IF_ERROR(RunPipeline(pipeline, *changed, context).status());
    }
    const Module& right = failure.platform.empty() ? *module : *changed;
    ASSIGN_OR_RETURN(const Literal expected, RunOn("interpreter", right, denormals, arguments));
    ASSIGN_OR_RETURN(const Literal actual, RunOn(platform, *changed, denormals, arguments));
    if (!is_last && CompareOutputs(actual, expected, failure.tolerance).ok) continue;
    FileSet files;
    const std::tuple<std::string_view, std::vector<Literal>, std::string_view> contents[] = {
        {"inputs.npz", arguments, "arg"},
        {"expected.npz", {expected}, "out"},
        {"actual.npz", {actual}, "out"}};
    for (const auto& [name, values, prefix] : contents) {
      ASSIGN_OR_RETURN(const std::string archive, Archive(values, prefix));
      RETURN_IF_ERROR(files.Add(fmt::format("{}/{}", folder, name), archive));
    }
    return files.Commit();
  }
  return absl::OkStatus();
}

// What XLA's program of the same purpose is asked.
std::string XlaCommand(const FailureOptions& failure) {
  if (failure.kind == FailureKind::kScript || failure.kind == FailureKind::kCheck) return "";
  if (failure.platform.empty())
    return fmt::format("hlo-opt --passes={} reduced.hlo", ShellQuoted(failure.passes));
  const bool is_gpu = failure.platform.find("gpu") != std::string::npos;
  return fmt::format("run_hlo_module --platform={} --reference_platform=interpreter reduced.hlo",
                     is_gpu ? "CUDA" : "CPU");
}

std::string ReadmeText(const std::string& folder, const FailureOptions& failure,
                       const FailureTest& test, std::string_view log) {
  std::string text = fmt::format("# {}\n\nTo see it, in this folder:\n\n    {}\n", test.Wanted(),
                                 test.CommandFor("reduced.hlo"));
  if (const std::string xla = XlaCommand(failure); !xla.empty())
    text += fmt::format("\nThe same file with XLA's own program:\n\n    {}\n", xla);
  if (failure.tries > 1)
    text += fmt::format("\nThe failure comes and goes: some of {} runs show it.\n", failure.tries);
  text +=
      "\n| file | what |\n| --- | --- |\n| `reduced.hlo` | the module |\n"
      "| `command.txt` | the command |\n| `environment.txt` | version, machine, flags |\n";
  std::string missing;
  for (const std::string_view name : kValueFiles) {
    if (std::filesystem::exists(fmt::format("{}/{}", folder, name))) {
      text += fmt::format("| `{}` | {} |\n", name,
                          name == "inputs.npz"     ? "the inputs, `arg0`, `arg1`, ..."
                          : name == "expected.npz" ? "what the interpreter gives, `out0`, ..."
                                                   : "what is wrong, `out0`, ...");
    } else {
      missing += fmt::format("{}`{}`", missing.empty() ? "" : ", ", name);
    }
  }
  if (!missing.empty())
    text += fmt::format("\nNot here: {}; the failure needs none, or came before they were made.\n",
                        missing);
  if (!missing.empty() && !log.empty())
    text += fmt::format("\nWhat making them said:\n\n    {}\n", Join(Split(log, '\n'), "\n    "));
  return text;
}

std::string EnvironmentText() {
  std::string text = fmt::format("version  {}\n", ProgramVersion());
  utsname system = {};
  if (uname(&system) == 0)
    text += fmt::format("system   {} {} {}\n", system.sysname, system.release, system.machine);
  text += DoctorReport();
  for (const char* name :
       {"XLA_FLAGS", "HLO_FLAGS", "HLO_NUM_THREADS", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name); value != nullptr)
      text += fmt::format("{}={}\n", name, value);
  }
  return text;
}

}  // namespace

absl::Status WriteBugReport(const std::string& folder, const std::string& text,
                            const FailureOptions& failure, const FailureTest& test) {
  std::string log;  // of the child that makes the values
  // Those of an earlier report are not of this one.
  for (const std::string_view name : kValueFiles) {
    std::error_code error;
    std::filesystem::remove(fmt::format("{}/{}", folder, name), error);
  }
  if (failure.kind != FailureKind::kScript && failure.kind != FailureKind::kCheck) {
    const ChildResult child = RunInChild(
        [&] {
          const absl::Status status = WriteValues(folder, text, failure);
          return status.ok() ? int{kExitOk} : ReportToolError("values", status);
        },
        {failure.timeout, 0, nullptr});
    log = child.log;
  }
  FileSet files;
  const std::pair<std::string_view, std::string> contents[] = {
      {"reduced.hlo", text},
      {"command.txt", test.CommandFor("reduced.hlo") + "\n"},
      {"environment.txt", EnvironmentText()},
      {"README.md", ReadmeText(folder, failure, test, log)}};
  for (const auto& [name, bytes] : contents)
    RETURN_IF_ERROR(files.Add(fmt::format("{}/{}", folder, name), bytes));
  return files.Commit();
}

}  // namespace hlo
