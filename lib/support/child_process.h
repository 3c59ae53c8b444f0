// Child processes: programs with arguments, or copies of this process that run a function. Here is
// how they are started, limited, ended and asked how they ended; who wants the output of a program
// and no more has run_program.h.
//
// No shell is involved: a word reaches the program as it is, whatever blanks and quotes it has. A
// program that cannot be run is an error of starting it, not an exit code.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// What a child is like before it begins.
struct ChildSetup {
  static constexpr int kOurs = -1, kNull = -2;  // instead of descriptors
  int input = kOurs;
  int output = kOurs;
  int error = kOurs;
  // It leads a process group of its own: what it starts ends with it, and ctrl-C on the terminal
  // does not reach it.
  bool leads_group = false;
  bool dies_with_us = false;   // also where we are killed
  bool leaves_core = true;     // a file, when it crashes
  unsigned alarm_seconds = 0;  // SIGALRM ends it after so many; 0: no limit
};

struct ChildEnd {
  bool is_signal = false;
  int code = 0;  // exit code, or number of the signal
  bool ok() const { return !is_signal && code == 0; }
  friend bool operator==(const ChildEnd&, const ChildEnd&) = default;
};
// "exit code 3", "signal 11".
std::string ToString(const ChildEnd& end);

// A child that this process is to wait for; destroyed before, it is killed.
class ChildProcess final {
 public:
  // Starts a program, which is found as a shell finds it. kNotFound: it cannot be run.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& words,
                                            const ChildSetup& setup = {});
  // Runs `body` in a copy of this process, which must have one thread; its result is the exit code.
  static absl::StatusOr<ChildProcess> Fork(const std::function<int()>& body,
                                           const ChildSetup& setup = {});
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  // How it ended; nothing while it runs.
  std::optional<ChildEnd> Poll();
  ChildEnd Wait();
  // Ends it, if it runs, and waits for that.
  ChildEnd Kill();

  // Of a child that has not been seen to end; 0 of others. Memory in bytes.
  double CpuSeconds() const;
  int64_t ResidentBytes() const;

 private:
  ChildProcess(pid_t child, bool leads_group) : child_(child), leads_group_(leads_group) {}
  ChildEnd EndsWith(int status);

  pid_t child_ = -1;  // negative: moved from
  bool leads_group_ = false;
  std::optional<ChildEnd> end_;
};

// Sleeps between looks at children: shortly at first, for those that end soon.
class PollPause final {
 public:
  void Sleep();
  void Reset() { microseconds_ = kShortest; }

 private:
  static constexpr useconds_t kShortest = 200, kLongest = 20'000;
  useconds_t microseconds_ = kShortest;
};

// What Start and Wait are made of, for the handler of a crash: these allocate nothing and take no
// lock. `words` ends with a null pointer; a negative result is -errno.
pid_t StartProgram(const char* const* words, const ChildSetup& setup);
ChildEnd WaitForChild(pid_t child);

}  // namespace hlo
