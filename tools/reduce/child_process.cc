#include "tools/reduce/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tools/support/memory_file.h"

namespace hlo {
namespace {

constexpr size_t kMaxLog = 1 << 16;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The processor time of a process that has not been waited for.
double CpuSecondsOf(pid_t child) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void BecomeChild(int log) {
  setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  dup2(log, STDERR_FILENO);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

// A child that was started and has no result yet.
struct RunningChild {
  pid_t pid = -1;
  MemoryFile log;
  std::chrono::steady_clock::time_point start;
  double cpu_seconds = 0;
};

void KillGroup(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
}

// Does the work, in the child; returns only when a program cannot be run.
void RunWork(const ChildWork& work, int log) {
  if (work.body != nullptr) {
    const int code = work.body();
    std::fflush(nullptr);
    _exit(code);
  }
  dup2(log, STDOUT_FILENO);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : work.words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "cannot run `%s`: %s\n", arguments[0], std::strerror(errno));
  std::fflush(stderr);
}

// Starts the work; a result says that there is no process.
std::optional<ChildResult> StartChild(const ChildWork& work, RunningChild& child) {
  child.start = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  child.pid = child.log.descriptor() < 0 ? -1 : fork();
  if (child.pid == 0) {
    BecomeChild(child.log.descriptor());
    RunWork(work, child.log.descriptor());
    _exit(127);
  }
  if (child.pid > 0) {
    setpgid(child.pid, child.pid);  // also here: whoever comes first
    return std::nullopt;
  }
  ChildResult result;
  result.end = ChildResult::End::kNotStarted;
  result.log = std::string("cannot start a process: ") + std::strerror(errno);
  return result;
}

// The result, if the child has ended or is ended now: it takes too long or is not wanted any more.
std::optional<ChildResult> PollChild(RunningChild& child, const ChildLimits& limits) {
  ChildResult result;
  int status = 0;
  if (waitpid(child.pid, &status, WNOHANG) == 0) {
    child.cpu_seconds = CpuSecondsOf(child.pid);
    const bool is_late = SecondsSince(child.start) > limits.seconds ||
                         (limits.cpu_seconds > 0 && child.cpu_seconds > limits.cpu_seconds);
    if (!is_late && (limits.is_cancelled == nullptr || !limits.is_cancelled())) return std::nullopt;
    result.end = is_late ? ChildResult::End::kTimedOut : ChildResult::End::kCancelled;
    KillGroup(child.pid);
    waitpid(child.pid, &status, 0);
  } else {
    if (WIFSIGNALED(status)) result.end = ChildResult::End::kSignalled;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    kill(-child.pid, SIGKILL);  // what it left behind
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
  constexpr useconds_t kShortest = 200, kLongest = 20'000;
  useconds_t pause = kShortest;
  while (true) {
    bool has_ended = false, all_ended = true;
    for (size_t i = 0; i < works.size(); ++i) {
      if (results[i].has_value()) continue;
      results[i] = PollChild(children[i], limits);
      has_ended = has_ended || results[i].has_value();
      all_ended = all_ended && results[i].has_value();
    }
    if (all_ended || (has_ended && is_enough != nullptr && is_enough(results))) break;
    usleep(pause);
    pause = has_ended ? kShortest : std::min<useconds_t>(pause + pause / 4, kLongest);
  }
  for (size_t i = 0; i < works.size(); ++i) {
    if (results[i].has_value()) continue;
    KillGroup(children[i].pid);
    waitpid(children[i].pid, nullptr, 0);
  }
  return results;
}

ChildResult RunInChild(const std::function<int()>& body, const ChildLimits& limits) {
  return *RunChildren({{body, {}}}, limits, nullptr)[0];
}

ChildResult RunCommand(const std::vector<std::string>& words, const ChildLimits& limits) {
  return *RunChildren({{nullptr, words}}, limits, nullptr)[0];
}

}  // namespace hlo
