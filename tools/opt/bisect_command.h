// hlo-opt --bisect=CMD: the modules that Bisect (bisect.h) asks about are given to a shell command.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "passes/pass_manager.h"

namespace hlo {

// Prints which pass of `pipeline`, and which of its rewrites, makes `command` fail. The
// command gets a file in the place of `{}`, or after it. The exit code: a mismatch when no
// pass is to blame.
absl::StatusOr<int> BisectCommand(
    const Pipeline& pipeline, const Instrumentation& instrumentation,
    const std::function<absl::StatusOr<std::unique_ptr<Module>>()>& load,
    const std::string& command);

}  // namespace hlo
