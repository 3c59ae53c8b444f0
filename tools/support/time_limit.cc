#include "tools/support/time_limit.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "lib/support/crash_limit.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

char time_limit_message[128];

void OnTimeLimit(int) {
  ReportLimit(time_limit_message);
  _exit(kExitTimeLimit);
}

}  // namespace

void StartTimeLimit(double seconds, std::string_view program) {
  if (seconds <= 0) return;
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
