// The HLO passes of the CPU platform: the pipeline `default<cpu>` (passes/pipelines.cc).
#pragma once

#include "absl/status/status.h"
#include "backends/backend.h"
#include "lib/ir/module.h"

namespace hlo::cpu {

absl::Status RunPasses(Module& module, const CompileOptions& options);

}  // namespace hlo::cpu
