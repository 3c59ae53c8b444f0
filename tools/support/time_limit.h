// --time-limit, --compile-timeout: the process ends with kExitTimeLimit when its time is over, and
// says what it was doing (lib/support/crash_context.h).
#pragma once

#include <string_view>

namespace hlo {

// What the end leaves: nothing, or the file that a crash leaves (crash_reproducer.h), for what
// should not take long.
enum class AtLimit { kEnds, kReproduces };

// From now on; 0: no limit. `program` stands in front of the message.
void StartTimeLimit(double seconds, std::string_view program, AtLimit at_limit);
// The limit does not hold any more.
void StopTimeLimit();

}  // namespace hlo
