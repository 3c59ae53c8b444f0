#include "tools/support/time_limit.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "lib/support/crash_context.h"
#include "lib/support/crash_limit.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

char time_limit_message[128];

AtLimit what_follows = AtLimit::kEnds;

void OnTimeLimit(int) {
  if (what_follows == AtLimit::kReproduces) {
    ReportCrash(time_limit_message, {});
  } else {
    ReportLimit(time_limit_message);
  }
  _exit(kExitTimeLimit);
}

}  // namespace

void StartTimeLimit(double seconds, std::string_view program, AtLimit at_limit) {
  if (seconds <= 0) return;
  what_follows = at_limit;
  const std::string message =
      fmt::format("{}: error: the time limit of {} s is over\n", program, seconds);
  time_limit_message[message.copy(time_limit_message, sizeof time_limit_message - 1)] = 0;
  struct sigaction action = {};
  action.sa_handler = OnTimeLimit;
  action.sa_flags = static_cast<int>(SA_ONSTACK);
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void StopTimeLimit() {
  const itimerval none = {};
  setitimer(ITIMER_REAL, &none, nullptr);
}

}  // namespace hlo
