// Runs work in a child process, so that a crash, an endless loop or a memory hog is a result and not
// the end of this program.
//
// The child is the leader of a process group of its own: what it starts ends with it, and ctrl-C on
// the terminal does not reach it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hlo {

struct ChildLimits {
  double seconds = 60;  // of wall time
  double cpu_seconds =
      0;  // of the child's own processor time, however busy the machine; 0: no limit
  // Asked a few times per second; true ends the child.
  std::function<bool()> is_cancelled;
};

struct ChildResult {
  enum class End : char { kExited, kSignalled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kExited;
  int code = 0;     // exit code or signal
  std::string log;  // the start of what it wrote to standard error (and output, of a command)
  double cpu_seconds = 0;  // of the child itself
};

// Runs `body` in a copy of this process; its result is the exit code. This process must have one
// thread.
ChildResult RunInChild(const std::function<int()>& body, const ChildLimits& limits);

// Runs a program with arguments, found as a shell finds it. Standard input is empty.
ChildResult RunCommand(const std::vector<std::string>& words, const ChildLimits& limits);

}  // namespace hlo
