#include "tools/support/watchdog.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lib/support/crash_limit.h"

namespace hlo {
namespace {

constexpr double kFirst = 10;  // seconds
constexpr int kSignal = SIGUSR2;

timer_t timer;
bool is_running = false;
double passed = 0;
char message[128];
size_t message_end = 0;  // where the number goes

// Sets the timer, also from the signal's handler.
void SetTimer(double seconds) {
  itimerspec when = {};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  timer_settime(timer, 0, &when, nullptr);
}

void OnTimer(int) {
  const int saved = errno;
  // The time in tenths of a second, without a function that may take a lock.
  char* at = message + message_end;
  char digits[24];
  int count = 0;
  for (auto tenths = static_cast<int64_t>(passed * 10); count < 2 || tenths > 0; tenths /= 10)
    digits[count++] = static_cast<char>('0' + tenths % 10);
  while (count > 1) *at++ = digits[--count];
  *at++ = '.';
  *at++ = digits[0];
  for (const char c : {' ', 's', ' ', 's', 'o', ' ', 'f', 'a', 'r', '\n', '\0'}) *at++ = c;
  ReportSoFar(message);
  SetTimer(passed);
  passed *= 2;
  errno = saved;
}

}  // namespace

Watchdog::Watchdog(std::string_view program) {
  const char* const given = std::getenv("HLO_WATCHDOG");
  const double first = given == nullptr ? kFirst : std::strtod(given, nullptr);
  if (first <= 0 || is_running) return;
  message_end = static_cast<size_t>(std::snprintf(
      message, sizeof message - 40,
      "%.*s: note: ", static_cast<int>(std::min<size_t>(program.size(), 40)), program.data()));
  struct sigaction action = {};
  action.sa_handler = OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(kSignal, &action, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = kSignal;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  is_running = true;
  passed = first;
  SetTimer(first);
}

Watchdog::~Watchdog() {
  if (!is_running) return;
  timer_delete(timer);
  signal(kSignal, SIG_IGN);  // one may be on its way
  is_running = false;
}

}  // namespace hlo
