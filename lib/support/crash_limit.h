// The end of a program at a limit of memory or time, which is no bug: crash_context.h
// without its action.
#pragma once

#include <string_view>

namespace hlo {

// Writes `what` happened and the lines of this thread. For handlers.
void ReportLimit(std::string_view what);
// The same of a program that goes on; any number of times.
void ReportSoFar(std::string_view what);

}  // namespace hlo
