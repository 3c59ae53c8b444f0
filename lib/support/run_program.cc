#include "lib/support/run_program.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/support/memory_file.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"

namespace hlo {
namespace {

absl::Status NoMemoryFile() {
  return Error("cannot make a file in memory: {}", std::strerror(errno));
}

// Waits until the program has ended; whether it had to be ended.
bool WaitUntil(double seconds, ChildProcess& child) {
  const Stopwatch watch;
  for (PollPause pause; !child.Poll().has_value(); pause.Sleep()) {
    if (watch.milliseconds() <= seconds * 1000) continue;
    child.Kill();
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         const ProgramOptions& options) {
  const MemoryFile input, output, error;
  if (input.descriptor() < 0 || output.descriptor() < 0 || error.descriptor() < 0)
    return NoMemoryFile();
  ChildSetup setup;
  if (options.input.has_value()) {
    if (!input.Write(*options.input) || !input.Rewind()) return NoMemoryFile();
    setup.input = input.descriptor();
  }
  setup.output = output.descriptor();
  if (options.error_output == ErrorOutput::kApart) setup.error = error.descriptor();
  if (options.error_output == ErrorOutput::kWithOutput) setup.error = output.descriptor();
  setup.leads_group = options.seconds > 0;
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(words, setup));
  ProgramResult result;
  if (options.seconds > 0) result.is_late = WaitUntil(options.seconds, child);
  result.end = child.Wait();
  result.output = output.Start();
  result.error = error.Start();
  return result;
}

std::vector<std::string> ShellCommand(std::string command) {
  return {"/bin/sh", "-c", std::move(command)};
}

}  // namespace hlo
