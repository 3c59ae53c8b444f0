// A line on the terminal that says what takes so long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace hlo {

// Whether --progress=`when` (auto, always, never) asks for it: auto is on a terminal.
bool ShowsProgress(std::string_view when);

// While it lives, and once a stage has taken a second, "stage … 3 s" stands on standard error and
// is kept up to date.
class Progress final {
 public:
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A new stage begins: the line of the last one is gone when this returns. "": nothing is going
  // on.
  void Stage(std::string name);
  // What the stage is at: "stage: step … 3 s", of the same clock.
  void Step(std::string name);

 private:
  using Clock = std::chrono::steady_clock;
  void Loop();
  void Clear();  // with mutex_ held

  bool enabled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_, step_;
  Clock::time_point start_;
  bool is_shown_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hlo
