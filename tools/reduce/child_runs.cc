#include "tools/reduce/child_runs.h"

#include "lib/support/child_process.h"
#include "lib/support/memory_file.h"
#include "lib/support/stopwatch.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr size_t kMaxLog = 1 << 16;

// A child that was started and has no result yet.
struct RunningChild {
  std::optional<ChildProcess> process;
  MemoryFile log;
  Stopwatch watch;
  double cpu_seconds = 0;
};

// Starts the work; a result says that there is no process. A program that is not there ends as a
// shell says it.
std::optional<ChildResult> StartChild(const ChildWork& work, RunningChild& child) {
  constexpr int kNoSuchProgram = 127;
  const int log = child.log.descriptor();
  ChildSetup setup = {.error = log, .leads_group = true, .leaves_core = false};
  absl::StatusOr<ChildProcess> process = absl::UnknownError("");
  if (log < 0) {
    process = absl::ResourceExhaustedError("cannot make a file in memory");
  } else if (work.body != nullptr) {
    process = ChildProcess::Fork(work.body, setup);
  } else {
    setup.input = ChildSetup::kNull;
    setup.output = log;
    process = ChildProcess::Start(work.words, setup);
  }
  if (process.ok()) {
    child.process = *std::move(process);
    return std::nullopt;
  }
  ChildResult result;
  const bool is_missing = absl::IsNotFound(process.status());
  result.end = is_missing ? ChildResult::End::kExited : ChildResult::End::kNotStarted;
  result.code = is_missing ? kNoSuchProgram : 0;
  result.log = ToStd(process.status().message());
  return result;
}

// The result, if the child has ended or is ended now: it takes too long or is not wanted any more.
std::optional<ChildResult> PollChild(RunningChild& child, const ChildLimits& limits) {
  ChildResult result;
  if (const std::optional<ChildEnd> end = child.process->Poll(); end.has_value()) {
    if (end->is_signal) result.end = ChildResult::End::kSignalled;
    result.code = end->code;
  } else {
    child.cpu_seconds = child.process->CpuSeconds();
    const bool is_late = child.watch.milliseconds() > limits.seconds * 1000 ||
                         (limits.cpu_seconds > 0 && child.cpu_seconds > limits.cpu_seconds);
    if (!is_late && (limits.is_cancelled == nullptr || !limits.is_cancelled())) return std::nullopt;
    result.end = is_late ? ChildResult::End::kTimedOut : ChildResult::End::kCancelled;
    child.process->Kill();
  }
  result.cpu_seconds = child.cpu_seconds;
  result.log = child.log.Start(kMaxLog);
  return result;
}

}  // namespace

ChildResults RunChildren(const std::vector<ChildWork>& works, const ChildLimits& limits,
                         const std::function<bool(const ChildResults&)>& is_enough) {
  std::vector<RunningChild> children(works.size());
  ChildResults results(works.size());
  for (size_t i = 0; i < works.size(); ++i) results[i] = StartChild(works[i], children[i]);
  PollPause pause;
  while (true) {
    bool has_ended = false, all_ended = true;
    for (size_t i = 0; i < works.size(); ++i) {
      if (results[i].has_value()) continue;
      results[i] = PollChild(children[i], limits);
      has_ended = has_ended || results[i].has_value();
      all_ended = all_ended && results[i].has_value();
    }
    // What still runs is killed with its RunningChild.
    if (all_ended || (has_ended && is_enough != nullptr && is_enough(results))) return results;
    if (has_ended) pause.Reset();
    pause.Sleep();
  }
}

ChildResult RunInChild(const std::function<int()>& body, const ChildLimits& limits) {
  return *RunChildren({{body, {}}}, limits, nullptr)[0];
}

ChildResult RunCommand(const std::vector<std::string>& words, const ChildLimits& limits) {
  return *RunChildren({{nullptr, words}}, limits, nullptr)[0];
}

}  // namespace hlo
