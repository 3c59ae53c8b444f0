#include "tools/run/progress.h"

#include <fmt/format.h>

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
    Clear();
    stage_ = std::move(name);
    start_ = Clock::now();
  }
  changed_.notify_one();
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
    std::fputs(fmt::format("\r\033[K{} ... {} s", stage_, static_cast<int64_t>(seconds)).c_str(),
               stderr);
    std::fflush(stderr);
    is_shown_ = true;
  }
  Clear();
}

}  // namespace hlo
