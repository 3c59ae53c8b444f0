// How a tool ends when it crashes: what happened, what it was doing (lib/support/crash_context.h),
// and an exit code in place of a signal.
#pragma once

#include <string_view>

namespace hlo {

// Handles signals, failed checks, uncaught exceptions and the end of memory. `program` stands in
// front of errors that are not ours.
void InstallCrashHandlers(std::string_view program);

}  // namespace hlo
