// The HLO passes of the CPU platform: the pipeline `default<cpu>` (passes/pipelines.cc).
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo::cpu {

// Runs the pipeline.
// `threads` as in CompileOptions.
absl::Status RunPasses(Module& module, bool verify_each, int threads);

}  // namespace hlo::cpu
