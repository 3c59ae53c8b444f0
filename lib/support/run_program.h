// Runs a program to its end and gives back what it wrote.
//
//   ASSIGN_OR_RETURN(const ProgramResult result, RunProgram({"ptxas", "--version"}));
//   if (!result.end.ok()) return Error("ptxas ended with {}", ToString(result.end));
//
// Input and outputs lie in files in memory, so neither side ever waits for the other one to read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/support/child_process.h"

namespace hlo {

enum class ErrorOutput : char { kOurs, kApart, kWithOutput };

struct ProgramOptions {
  std::optional<std::string_view> input;  // what it reads; nothing: what we would
  ErrorOutput error_output = ErrorOutput::kOurs;
  double seconds = 0;  // after these it is ended, with what it has started; 0: no limit
};

struct ProgramResult {
  ChildEnd end;
  bool is_late = false;  // it was ended for its time
  std::string output;
  std::string error;  // ErrorOutput::kApart
};

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         const ProgramOptions& options = {});

// The words that run a command which a user has written for a shell.
std::vector<std::string> ShellCommand(std::string command);

}  // namespace hlo
