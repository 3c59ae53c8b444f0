// --bug-report=DIR: all that somebody else needs to see the failure, in one folder.
//
//   README.md          what fails, three lines that show it, here and with XLA's programs
//   reduced.hlo        the module
//   command.txt        the command that shows the failure
//   environment.txt    version, processor, GPU, flags of the environment
//   inputs.npz         arg0, arg1, …: the inputs, where the failure runs the module
//   expected.npz       out0, out1, …: what the interpreter gives, without the passes if they are blamed
//   actual.npz         out0, out1, …: what is wrong
//
// Values are made in a child process: what crashes or hangs there leaves no file of them, which
// README.md says.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/reduce/failure.h"

namespace hlo {

absl::Status WriteBugReport(const std::string& folder, const std::string& text,
                            const FailureOptions& failure, const FailureTest& test);

}  // namespace hlo
