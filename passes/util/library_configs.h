// Whether the configs of calls of NVIDIA's libraries can be read, and whether products have the
// operands that theirs ask for. What is read passes/gpu/library_config.h says;
// passes/gpu/library_config_checks.cc has the definition.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Of the config of a call, if it has any: of the libraries' calls, as that of their target; others
// can. One that lacks its own part is as if that were 0. The error is at the field, or what running
// the call says.
absl::Status CheckLibraryConfig(const Instruction& call);

}  // namespace hlo
