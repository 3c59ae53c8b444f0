// The HLO passes of the CPU platform, as readable lists.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo::cpu {

// The pipeline text: `hlo-opt --passes=` runs it as it is.
std::string_view PipelineText();

// Runs the pipeline.
absl::Status RunPasses(Module& module, bool verify_each);

}  // namespace hlo::cpu
