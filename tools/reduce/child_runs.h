// Runs works in child processes at the same time, so that a crash, an endless loop or a memory hog
// is a result and not the end of this program. Each leads a process group of its own
// (lib/support/child_process.h).
#pragma once

#include <functional>
#include <optional>
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

// What a child does: `body` in a copy of this process, its result is the exit code; or, without
// one, a program with arguments, found as a shell finds it, with nothing on standard input.
struct ChildWork {
  std::function<int()> body;
  std::vector<std::string> words;
};

// Runs the works at the same time, each in a child of its own. This process must have one thread.
// `is_enough` is asked whenever one has ended; true ends the others, which then have no result.
using ChildResults = std::vector<std::optional<ChildResult>>;
ChildResults RunChildren(const std::vector<ChildWork>& works, const ChildLimits& limits,
                         const std::function<bool(const ChildResults&)>& is_enough);

// The same for one.
ChildResult RunInChild(const std::function<int()>& body, const ChildLimits& limits);
ChildResult RunCommand(const std::vector<std::string>& words, const ChildLimits& limits);

}  // namespace hlo
