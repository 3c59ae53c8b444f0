// The HLO passes of a compiled platform: what stands between its module and its code generator.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "lib/ir/module.h"

namespace hlo {

// Runs `pipeline` (passes/pipelines.cc), or just copy-insertion when `options` say so, shows the
// module after it (EmitStage::kHlo), and verifies what code generators rely on (row_major.h).
absl::Status RunPlatformPasses(std::string_view pipeline, Module& module,
                               const CompileOptions& options, CompileStats& stats);

}  // namespace hlo
