#include "tools/run/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace hlo {

Progress::Progress(bool enabled) : enabled_(enabled) {
  if (enabled_) thread_ = std::thread([this] { Loop(); });
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
    stage_ = std::move(name);
    ++generation_;
  }
  changed_.notify_one();
}

void Progress::Loop() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock<std::mutex> lock(mutex_);
  int shown = -1;  // the generation whose line is on the screen
  int seen = generation_;
  Clock::time_point start = Clock::now();
  while (!stop_) {
    changed_.wait_for(lock, std::chrono::milliseconds(250));
    const bool is_new = generation_ != seen;
    if ((is_new || stop_) && shown == seen) {
      std::fputs("\r\033[K", stderr);
      shown = -1;
    }
    if (is_new) {
      seen = generation_;
      start = Clock::now();
      continue;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (stop_ || stage_.empty() || seconds < 1) continue;
    std::fputs(fmt::format("\r\033[K{} ... {:.0f} s", stage_, seconds).c_str(), stderr);
    std::fflush(stderr);
    shown = seen;
  }
}

}  // namespace hlo
