#include "tools/support/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

namespace hlo {

bool ShowsProgress(std::string_view when) {
  return when == "always" || (when == "auto" && isatty(STDERR_FILENO) != 0);
}

Progress::Progress(bool enabled) : enabled_(enabled) {
  if (!enabled_) return;
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (const std::system_error&) {  // the system gives no thread for it
    enabled_ = false;
  }
}

Progress::~Progress() {
  if (!enabled_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::Stage(std::string name) {
  if (!enabled_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Clear();
    stage_ = std::move(name);
    step_.clear();
    start_ = Clock::now();
  }
  changed_.notify_one();
}

void Progress::Step(std::string name) {
  if (!enabled_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  step_ = std::move(name);
}

void Progress::Clear() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
  is_shown_ = false;
}

void Progress::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    changed_.wait_for(lock, std::chrono::milliseconds(250));
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (stop_ || stage_.empty() || seconds < 1) continue;
    std::fputs(fmt::format("\r\033[K{}{}{} ... {} s", stage_, step_.empty() ? "" : ": ", step_,
                           static_cast<int64_t>(seconds))
                   .c_str(),
               stderr);
    std::fflush(stderr);
    is_shown_ = true;
  }
  Clear();
}

}  // namespace hlo
