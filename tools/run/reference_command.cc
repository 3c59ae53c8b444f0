#include "tools/run/reference_command.h"

#include <filesystem>

#include "lib/support/run_program.h"
#include "lib/support/status.h"
#include "lib/support/temporary.h"
#include "tools/run/outputs.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

std::string Replaced(std::string text, std::string_view what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// What the command prints.
absl::StatusOr<std::string> OutputOf(const std::string& command) {
  ASSIGN_OR_RETURN(ProgramResult result, RunProgram(ShellCommand(command)));
  if (result.end.ok()) return std::move(result.output);
  return absl::UnavailableError(
      fmt::format("the reference `{}` ended with {}", command, ToString(result.end)));
}

}  // namespace

bool IsReferenceCommand(std::string_view word) { return word.find(' ') != std::string_view::npos; }

absl::StatusOr<ExpectedValues> RunReferenceCommand(const std::string& command,
                                                   const std::string& module,
                                                   absl::Span<const Literal> arguments,
                                                   Shape result_shape) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Make());
  const std::string inputs = folder->In("inputs"), outputs = folder->In("outputs");
  RETURN_IF_ERROR(WriteArrays(arguments, inputs, "arg"));
  RETURN_IF_ERROR(CheckOutputFolder(outputs));
  std::string words = Replaced(command, "{module}", ShellQuoted(module));
  words = Replaced(std::move(words), "{inputs}", ShellQuoted(inputs));
  words = Replaced(std::move(words), "{outputs}", ShellQuoted(outputs));
  ASSIGN_OR_RETURN(const std::string text, OutputOf(words));
  const bool left_files = !std::filesystem::is_empty(outputs);
  absl::StatusOr<ExpectedValues> values = ReadExpected(left_files ? outputs : text, result_shape);
  if (values.ok()) return values;
  return Error("the reference `{}` gives no `{}`: {}", command, result_shape,
               std::string(values.status().message()));
}

}  // namespace hlo
