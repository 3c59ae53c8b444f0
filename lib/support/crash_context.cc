#include "lib/support/crash_context.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "lib/support/crash_limit.h"

namespace hlo {
namespace {

constinit thread_local const CrashLine* innermost = nullptr;
constinit std::atomic<CrashAction*> newest_action{nullptr};
constinit std::atomic<int> reporting_thread{0};

constexpr size_t kStackSize = size_t{1} << 16;

}  // namespace

CrashWriter& CrashWriter::Text(std::string_view text) {
  while (!text.empty()) {
    if (size_ == sizeof buffer_) Flush();
    const size_t n = text.size() < sizeof buffer_ - size_ ? text.size() : sizeof buffer_ - size_;
    std::memcpy(buffer_ + size_, text.data(), n);
    size_ += n;
    text.remove_prefix(n);
  }
  return *this;
}

CrashWriter& CrashWriter::Number(int64_t number) {
  char digits[24];
  char* at = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  do *--at = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (number < 0) *--at = '-';
  return Text({at, static_cast<size_t>(digits + sizeof digits - at)});
}

CrashWriter& CrashWriter::Hex(uint64_t number) {
  char digits[16];
  char* at = digits + sizeof digits;
  do *--at = "0123456789abcdef"[number % 16];
  while ((number /= 16) != 0);
  return Text("0x").Text({at, static_cast<size_t>(digits + sizeof digits - at)});
}

void CrashWriter::Flush() {
  const char* at = buffer_;
  while (size_ > 0) {
    const ssize_t n = write(STDERR_FILENO, at, size_);
    if (n <= 0) break;
    at += n;
    size_ -= static_cast<size_t>(n);
  }
  size_ = 0;
}

CrashLine::CrashLine(std::string_view what, std::string_view name)
    : outer_(innermost), what_(what), name_(name) {
  innermost = this;
}

CrashLine::CrashLine(Writer writer, const void* context)
    : outer_(innermost), writer_(writer), context_(context) {
  innermost = this;
}

CrashLine::~CrashLine() { innermost = outer_; }

const CrashLine* CrashLine::Innermost() { return innermost; }

void CrashLine::WriteAll(CrashWriter& out) {
  for (const CrashLine* line = innermost; line != nullptr; line = line->outer_) {
    if (line->writer_ != nullptr) {
      line->writer_(line->context_, out);
    } else {
      out.Text("  while ").Text(line->what_);
      if (!line->name_.empty()) out.Text(" `").Text(line->name_).Text("`");
      out.Text("\n");
    }
    out.Flush();  // a later line may crash
  }
}

CrashLinesOfOther::CrashLinesOfOther(const CrashLine* lines) : saved_(innermost) {
  innermost = lines;
}

CrashLinesOfOther::~CrashLinesOfOther() { innermost = saved_; }

CrashAction::CrashAction(Act act, const void* context)
    : outer_(newest_action.load()), act_(act), context_(context) {
  newest_action.store(this);
}

CrashAction::~CrashAction() { newest_action.store(outer_); }

namespace {

// False when this thread is writing a report already.
bool WriteReport(std::string_view what, CrashWriter& out) {
  int reporting = 0;
  const int self = gettid();
  if (!reporting_thread.compare_exchange_strong(reporting, self)) {
    while (reporting != self) pause();  // the other one ends the process
    out.Text("  (and it crashed again while this was written)\n");
    return false;
  }
  out.Text(what);
  out.Flush();
  CrashLine::WriteAll(out);
  return true;
}

}  // namespace

void ReportLimit(std::string_view what) {
  CrashWriter out({});
  WriteReport(what, out);
}

void ReportSoFar(std::string_view what) {
  if (reporting_thread.load() != 0) return;  // somebody writes how it ended
  CrashWriter out({});
  out.Text(what);
  CrashLine::WriteAll(out);
}

void ReportCrash(std::string_view what, const CrashInfo& info) {
  CrashWriter out(info);
  if (!WriteReport(what, out)) return;
  if (const CrashAction* action = newest_action.load(); action != nullptr)
    action->act_(action->context_, out);
}

CrashStack::CrashStack() {
  void* memory =
      mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kStackSize;
  if (sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, kStackSize);
  }
}

CrashStack::~CrashStack() {
  if (memory_ == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kStackSize);
}

}  // namespace hlo
