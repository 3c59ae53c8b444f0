// --time-limit: the process ends with kExitTimeLimit when its time is over, and says what it was
// doing (lib/support/crash_context.h).
#pragma once

#include <string_view>

namespace hlo {

// From now on; 0: no limit. `program` stands in front of the message.
void StartTimeLimit(double seconds, std::string_view program);
// The limit does not hold any more.
void StopTimeLimit();

}  // namespace hlo
