// `--reference='COMMAND …'`: another program as the reference.
//
//   hlo-run m.hlo --reference='python3 mine.py {module} {inputs} {outputs}'
//
// {module} is the file that is run, {inputs} a folder with arg0.npy, arg1.npy, … (the leaves of the
// parameters), {outputs} one in which the command may leave out0.npy, out1.npy, …. If it leaves
// none, its standard output is read: literals, one for each output.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/run/compare_outputs.h"

namespace hlo {

// Whether a value of --reference is a command, rather than the name of a platform.
bool IsReferenceCommand(std::string_view word);

// What the command gives for these arguments; its standard error goes to ours. An error when it
// fails, or gives nothing of this shape.
absl::StatusOr<ExpectedValues> RunReferenceCommand(const std::string& command,
                                                   const std::string& module,
                                                   absl::Span<const Literal> arguments,
                                                   Shape result_shape);

}  // namespace hlo
