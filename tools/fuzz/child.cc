#include "tools/fuzz/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>

#include "tools/support/memory_file.h"

namespace hlo {
namespace {

constexpr int kFoundSomething = 77;
constexpr size_t kMaxLog = 1 << 16;  // bytes of what a child said last

double CpuSeconds(pid_t child) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t ResidentMegabytes(pid_t child) {
  std::ifstream file(fmt::format("/proc/{}/statm", child));
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) / (1 << 20);
}

// The line of a sanitizer's or an assertion's report that says what happened, then the report.
std::string DescribeCrash(int status, const std::string& log) {
  std::string title = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                          : fmt::format("exit code {}", WEXITSTATUS(status));
  for (const std::string_view mark :
       {"runtime error:", "SUMMARY:", "check failed", "terminate called"}) {
    const size_t at = log.find(mark);
    if (at == std::string::npos) continue;
    const size_t before = log.rfind('\n', at);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    title = log.substr(begin, std::min(log.find('\n', at), log.size()) - begin);
    break;
  }
  return fmt::format("crash: {}\n{}", title, log);
}

}  // namespace

SharedState* SharedState::Create(size_t max_input) {
  void* memory = mmap(nullptr, sizeof(SharedState) + max_input, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* state = new (memory) SharedState;
  state->max_input_ = max_input;
  return state;
}

void SharedState::Begin(std::string_view input) {
  input_size_ = std::min(input.size(), max_input_);
  std::memcpy(static_cast<char*>(input_), input.data(), input_size_);
  runs.fetch_add(1);
}

void SharedState::SetFinding(std::string_view finding) {
  finding_size_ = std::min(finding.size(), sizeof finding_);
  std::memcpy(finding_, finding.data(), finding_size_);
}

void SharedState::AddKnown(uint64_t hash) {
  if (known_count_ < kKnown && !IsKnown(hash)) known_[known_count_++] = hash;
}

bool SharedState::IsKnown(uint64_t hash) const {
  return std::find(known_, known_ + known_count_, hash) != known_ + known_count_;
}

std::string RunChild(SharedState& state, const InputLimits& limits,
                     const std::function<void()>& body, const std::function<bool()>& idle) {
  const MemoryFile log;
  state.SetFinding("");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return "crash: cannot start a process";
  if (child == 0) {
    dup2(log.descriptor(), STDERR_FILENO);
    body();
    std::fflush(nullptr);
    _exit(state.finding().empty() ? 0 : kFoundSomething);
  }
  uint64_t runs = state.runs.load();
  double started = 0;
  int64_t used_before = 0;
  std::string finding;
  int status = 0;
  bool stopped = false;
  for (int64_t polls = 0;; ++polls) {
    if (waitpid(child, &status, WNOHANG) != 0) break;
    usleep(polls < 50 ? 500 : 20000);
    const double now = CpuSeconds(child);
    if (state.runs.load() != runs) {
      runs = state.runs.load();
      started = now;
      used_before = ResidentMegabytes(child);
    }
    if (now - started > limits.seconds)
      finding = fmt::format("slow: more than {} s of processor time", limits.seconds);
    if (const int64_t used = ResidentMegabytes(child); used - used_before > limits.megabytes)
      finding = fmt::format("memory: more than {} MB", limits.megabytes);
    stopped = finding.empty() && polls % 8 == 0 && !idle();
    if (finding.empty() && !stopped) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    break;
  }
  if (finding.empty() && !stopped) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == kFoundSomething) {
      finding = std::string(state.finding());
    } else if (status != 0) {
      finding = DescribeCrash(status, log.End(kMaxLog));
    }
  }
  return finding;
}

std::string KindOfFinding(std::string_view finding) {
  std::string kind;
  bool quoted = false;
  for (const char c : finding) {
    if (c == '`') quoted = !quoted;
    if (c == '\n' && !quoted) break;
    if (quoted || (c >= '0' && c <= '9')) continue;
    kind += c;
  }
  return kind;
}

}  // namespace hlo
