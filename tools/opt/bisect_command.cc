#include "tools/opt/bisect_command.h"

#include "lib/ir/printer.h"
#include "lib/support/child_process.h"
#include "lib/support/file.h"
#include "lib/support/run_program.h"
#include "lib/support/temporary.h"
#include "tools/opt/bisect.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr int kNoSuchCommand = 127;  // of a shell

absl::StatusOr<bool> CommandFails(const Module& module, std::string command) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Make());
  const std::string path = folder->In("module.hlo");
  PrintOptions whole = PrintOptions::Default();
  whole.large_constants = whole.lossless = true;
  RETURN_IF_ERROR(WriteFile(path, ToText(module, whole)));
  const std::string quoted = SingleQuoted(path);
  const size_t hole = command.find("{}");
  const std::string line = hole == std::string::npos
                               ? command + " " + quoted
                               : std::string(command).replace(hole, 2, quoted);
  ASSIGN_OR_RETURN(ChildProcess child,
                   ChildProcess::Start(ShellCommand(line),
                                       {.output = ChildSetup::kNull, .error = ChildSetup::kNull}));
  const ChildEnd end = child.Wait();
  if (end == ChildEnd{.code = kNoSuchCommand})
    return Error("`--bisect`: there is no command `{}`", command);
  return !end.ok();
}

std::string Verdict(const BisectResult& result) {
  if (result.pass_number < 0) return "the command does not fail after the whole pipeline";
  if (result.pass_number == 0) return "the command fails on the input itself, before any pass";
  std::string text =
      fmt::format("the command fails from pass {} on, `{}`", result.pass_number, result.pass);
  if (result.rewrite > 0) text += fmt::format(", at its rewrite {}", result.rewrite);
  if (!result.rule.empty()) text += fmt::format(": rule {}", result.rule);
  return text;
}

}  // namespace

absl::StatusOr<int> BisectCommand(
    const Pipeline& pipeline, const Instrumentation& instrumentation,
    const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load,
    const std::string& command) {
  Instrumentation in;
  in.verify_each = false;
  in.disabled = instrumentation.disabled;
  in.only = instrumentation.only;
  ASSIGN_OR_RETURN(const BisectResult result,
                   Bisect(pipeline, in, load, [&command](const Module& module) {
                     return CommandFails(module, command);
                   }));
  WriteStdout(fmt::format("{} ({} tries, {} passes run)\n", Verdict(result), result.tests,
                          result.passes_run));
  return result.pass_number > 0 ? static_cast<int>(kExitOk) : static_cast<int>(kExitMismatch);
}

}  // namespace hlo
