// The flow of hlo-info: reads the inputs, makes their reports, writes them.
#pragma once

#include "tools/info/options.h"
#include "tools/support/flags.h"

namespace hlo {

// The exit code.
int RunInfo(const Flags& flags, const InfoOptions& options);

}  // namespace hlo
