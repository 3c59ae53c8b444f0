// One run of hlo-opt: all inputs through the pipeline.
#pragma once

#include "tools/opt/options.h"

namespace hlo {

// The exit code.
int RunHloOpt(const Flags& flags, const OptOptions& options);

}  // namespace hlo
