#include "tools/fuzz/child.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/ascii.h"
#include "lib/support/child_process.h"
#include "lib/support/memory_file.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr int kFoundSomething = 77;
constexpr size_t kMaxLog = 1 << 16;  // bytes of what a child said last

int64_t ResidentMegabytes(const ChildProcess& child) { return child.ResidentBytes() / (1 << 20); }

// The line of a sanitizer's or an assertion's report that says what happened, then the report.
std::string DescribeCrash(const ChildEnd& end, const std::string& log) {
  std::string title = ToString(end);
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
  absl::StatusOr<ChildProcess> child = ChildProcess::Fork(
      [&] {
        body();
        return state.finding().empty() ? 0 : kFoundSomething;
      },
      {.error = log.descriptor()});
  if (!child.ok()) return fmt::format("crash: {}", ToStd(child.status().message()));
  uint64_t runs = state.runs.load();
  double started = 0;
  int64_t used_before = 0;
  std::string finding;
  PollPause pause;
  for (int64_t polls = 0; !child->Poll().has_value(); ++polls) {
    pause.Sleep();
    const double now = child->CpuSeconds();
    if (state.runs.load() != runs) {
      runs = state.runs.load();
      started = now;
      used_before = ResidentMegabytes(*child);
    }
    if (now - started > limits.seconds)
      finding = fmt::format("{} more than {} s of processor time", kSlow, limits.seconds);
    if (const int64_t used = ResidentMegabytes(*child); used - used_before > limits.megabytes)
      finding = fmt::format("memory: more than {} MB", limits.megabytes);
    const bool is_stopped = finding.empty() && polls % 8 == 0 && !idle();
    if (finding.empty() && !is_stopped) continue;
    child->Kill();
    return finding;
  }
  const ChildEnd end = child->Wait();
  if (end == ChildEnd{.code = kFoundSomething}) return std::string(state.finding());
  return end.ok() ? "" : DescribeCrash(end, log.End(kMaxLog));
}

std::string KindOfFinding(std::string_view finding) {
  std::string kind;
  bool quoted = false;
  for (const char c : finding) {
    if (c == '`') quoted = !quoted;
    if (c == '\n' && !quoted) break;
    if (quoted || absl::ascii_isdigit(c)) continue;
    kind += c;
  }
  return kind;
}

}  // namespace hlo
