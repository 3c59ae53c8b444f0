// Whether a module can run.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// The rules of Runnable() (tool_support.h), and everything has a meaning (lib/ir/verify_meaning.h).
absl::Status VerifyRunnable(const Module& module);

}  // namespace hlo
