#include "lib/support/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include "lib/support/status.h"

namespace hlo {
namespace {

ChildEnd EndOf(int status) {
  return WIFSIGNALED(status) ? ChildEnd{true, WTERMSIG(status)}
                             : ChildEnd{false, WEXITSTATUS(status)};
}

// waitpid, until it says something.
pid_t WaitFor(pid_t child, int& status, int flags) {
  while (true) {
    const pid_t ended = waitpid(child, &status, flags);
    if (ended >= 0 || errno != EINTR) return ended;
  }
}

void SetStream(int from, int to) {
  if (from == ChildSetup::kOurs) return;
  const int file = from == ChildSetup::kNull ? open("/dev/null", O_RDWR | O_CLOEXEC) : from;
  dup2(file, to);
}

// In the child, which may be one of a process with threads, or that has crashed.
void BecomeChild(const ChildSetup& setup) {
  if (setup.leads_group) {
    setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  }
  if (setup.dies_with_us) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!setup.leaves_core) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
  }
  if (setup.alarm_seconds > 0) {
    std::signal(SIGALRM, SIG_DFL);
    alarm(setup.alarm_seconds);
  }
  SetStream(setup.input, STDIN_FILENO);
  SetStream(setup.output, STDOUT_FILENO);
  SetStream(setup.error, STDERR_FILENO);
}

}  // namespace

std::string ToString(const ChildEnd& end) {
  return fmt::format("{} {}", end.is_signal ? "signal" : "exit code", end.code);
}

pid_t StartProgram(const char* const* words, const ChildSetup& setup) {
  int told[2];  // errno of the child, when there is no program; closed by the program's start
  if (pipe2(told, O_CLOEXEC) != 0) return -errno;
  const pid_t child = fork();
  if (child == 0) {
    BecomeChild(setup);
    execvp(words[0], const_cast<char* const*>(words));
    const int reason = errno;
    const bool is_told = write(told[1], &reason, sizeof reason) == sizeof reason;
    _exit(is_told ? 127 : 126);
  }
  int reason = child < 0 ? errno : 0;
  close(told[1]);
  if (child > 0) {
    ssize_t bytes;
    do bytes = read(told[0], &reason, sizeof reason);
    while (bytes < 0 && errno == EINTR);
    if (reason != 0) WaitForChild(child);
  }
  close(told[0]);
  return reason != 0 ? -reason : child;
}

ChildEnd WaitForChild(pid_t child) {
  int status = 0;
  WaitFor(child, status, 0);
  return EndOf(status);
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& words,
                                                 const ChildSetup& setup) {
  std::fflush(nullptr);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  const pid_t child = StartProgram(arguments.data(), setup);
  if (child > 0) return ChildProcess(child, setup.leads_group);
  if (child == -EAGAIN || child == -ENOMEM || child == -EMFILE || child == -ENFILE)
    return Error("cannot start a process: {}", std::strerror(-child));
  return MakeError(absl::StatusCode::kNotFound, SourceLoc(),
                   fmt::format("cannot run `{}`: {}", words[0], std::strerror(-child)));
}

absl::StatusOr<ChildProcess> ChildProcess::Fork(const std::function<int()>& body,
                                                const ChildSetup& setup) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Error("cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    BecomeChild(setup);
    const int code = body();
    std::fflush(nullptr);
    _exit(code);
  }
  if (setup.leads_group) setpgid(child, child);  // also here: whoever comes first
  return ChildProcess(child, setup.leads_group);
}

ChildProcess::~ChildProcess() {
  if (child_ > 0) Kill();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)), leads_group_(other.leads_group_), end_(other.end_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(leads_group_, other.leads_group_);
  std::swap(end_, other.end_);
  return *this;
}

ChildEnd ChildProcess::EndsWith(int status) {
  end_ = EndOf(status);
  if (leads_group_) kill(-child_, SIGKILL);  // what it left behind
  return *end_;
}

std::optional<ChildEnd> ChildProcess::Poll() {
  int status = 0;
  if (!end_ && WaitFor(child_, status, WNOHANG) != 0) EndsWith(status);
  return end_;
}

ChildEnd ChildProcess::Wait() {
  if (end_) return *end_;
  int status = 0;
  WaitFor(child_, status, 0);
  return EndsWith(status);
}

ChildEnd ChildProcess::Kill() {
  if (end_) return *end_;
  if (leads_group_) kill(-child_, SIGKILL);
  kill(child_, SIGKILL);
  return Wait();
}

double ChildProcess::CpuSeconds() const {
  clockid_t clock;
  timespec time{};
  if (end_ || clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t ChildProcess::ResidentBytes() const {
  if (end_) return 0;
  std::ifstream file(fmt::format("/proc/{}/statm", child_));
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void PollPause::Sleep() {
  usleep(microseconds_);
  microseconds_ = std::min<useconds_t>(microseconds_ + microseconds_ / 4, kLongest);
}

}  // namespace hlo
