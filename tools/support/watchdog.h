// Says what takes so long: after ten seconds, and then whenever that time has doubled, a line on
// standard error, and below it what the program is doing (lib/support/crash_context.h): the pass,
// the kernel, the file. HLO_WATCHDOG=SECONDS in the environment is another first time; 0: never.
#pragma once

#include <string_view>

namespace hlo {

// Watches the process as long as it lives. One at a time.
class Watchdog final {
 public:
  // `program` stands in front of the lines.
  explicit Watchdog(std::string_view program);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace hlo
