#include "tools/reduce/child_process.h"

#include <fcntl.h>
#include <sys/mman.h>
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

namespace hlo {
namespace {

constexpr size_t kMaxLog = 1 << 16;

std::string ReadChildLog(int fd) {
  std::string log(kMaxLog, '\0');
  const ssize_t n = pread(fd, log.data(), log.size(), 0);
  log.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return log;
}

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

// Waits for `child`; ends its group when it takes too long or is not wanted any more.
void Await(pid_t child, const ChildLimits& limits, ChildResult& result) {
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  useconds_t pause = 200;
  while (waitpid(child, &status, WNOHANG) == 0) {
    result.cpu_seconds = CpuSecondsOf(child);
    const bool is_late = SecondsSince(start) > limits.seconds ||
                         (limits.cpu_seconds > 0 && result.cpu_seconds > limits.cpu_seconds);
    const bool is_cancelled = limits.is_cancelled != nullptr && limits.is_cancelled();
    if (is_late || is_cancelled) {
      result.end = is_late ? ChildResult::End::kTimedOut : ChildResult::End::kCancelled;
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    usleep(pause);
    pause = std::min<useconds_t>(pause + pause / 4, 20'000);
  }
  if (result.end != ChildResult::End::kExited) return;
  if (WIFSIGNALED(status)) result.end = ChildResult::End::kSignalled;
  result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  kill(-child, SIGKILL);  // what it left behind
}

ChildResult Spawn(const std::function<void(int log)>& child_main, const ChildLimits& limits) {
  ChildResult result;
  const int log = memfd_create("log", MFD_CLOEXEC);
  std::fflush(nullptr);
  const pid_t child = log < 0 ? -1 : fork();
  if (child == 0) {
    BecomeChild(log);
    child_main(log);
    _exit(127);
  }
  if (child < 0) {
    result.end = ChildResult::End::kNotStarted;
    result.log = std::string("cannot start a process: ") + std::strerror(errno);
  } else {
    setpgid(child, child);  // also here: whoever comes first
    Await(child, limits, result);
    result.log = ReadChildLog(log);
  }
  if (log >= 0) close(log);
  return result;
}

}  // namespace

ChildResult RunInChild(const std::function<int()>& body, const ChildLimits& limits) {
  return Spawn(
      [&](int) {
        const int code = body();
        std::fflush(nullptr);
        _exit(code);
      },
      limits);
}

ChildResult RunCommand(const std::vector<std::string>& words, const ChildLimits& limits) {
  return Spawn(
      [&](int log) {
        dup2(log, STDOUT_FILENO);
        if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
        std::vector<char*> arguments;
        for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        std::fprintf(stderr, "cannot run `%s`: %s\n", arguments[0], std::strerror(errno));
        std::fflush(stderr);
      },
      limits);
}

}  // namespace hlo
