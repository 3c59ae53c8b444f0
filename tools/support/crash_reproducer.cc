#include "tools/support/crash_reproducer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/support/child_process.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr unsigned kRefineSeconds = 60;

// Text put together without allocating; what does not fit is cut.
class FixedText {
 public:
  FixedText& Add(std::string_view text) {
    size_ += text.copy(text_ + size_, sizeof text_ - 1 - size_);
    text_[size_] = 0;
    return *this;
  }
  FixedText& Add(int64_t number) {
    char digits[24];
    char* at = digits + sizeof digits;
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    return Add({at, static_cast<size_t>(digits + sizeof digits - at)});
  }
  char* text() { return text_; }

 private:
  char text_[4096] = "";
  size_t size_ = 0;
};

bool WriteBytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string ExecutablePath() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "";
}

}  // namespace

std::string CrashHead(std::string_view program, const std::vector<std::string>& words) {
  std::string head = fmt::format("// {} of this file crashed with:", program);
  for (const std::string& word : words) head += " " + ShellQuoted(word);
  std::replace(head.begin(), head.end(), '\n', ' ');
  return head + "\n";
}

CrashReproducer::CrashReproducer(std::string program, std::string head,
                                 std::shared_ptr<const Source> source,
                                 const std::vector<std::string>& words)
    : program_(std::move(program)),
      head_(std::move(head)),
      folder_(ReproducerFolder()),
      source_(std::move(source)),
      executable_(ExecutablePath()),
      action_(Act, this) {
  path_ = fmt::format("{}/{}.crash.{}.repro.hlo", folder_, program_, getpid());
  for (const std::string& word : words) command_end_ += " " + ShellQuoted(word);
}

void CrashReproducer::SetRefiner(std::vector<std::string> words) { refiner_ = std::move(words); }

void CrashReproducer::InPass(std::string_view name, int64_t number) {
  pass_[name.copy(pass_, sizeof pass_ - 1)] = 0;
  number_ = number;
}

void CrashReproducer::Act(const void* self, CrashWriter& out) {
  static_cast<const CrashReproducer*>(self)->Write(out);
}

void CrashReproducer::Write(CrashWriter& out) const {
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool written = fd >= 0 && WriteBytes(fd, head_) && WriteBytes(fd, source_->text());
  const char* const reason = strerrordesc_np(errno);
  if (fd >= 0) written = close(fd) == 0 && written;
  if (!written) {
    out.Text("note: no file repeats this: cannot write `").Text(path_).Text("`: ");
    out.Text(reason == nullptr ? "unknown error" : reason);
    out.Text("; HLO_REPRO_DIR names another folder\n");
    return;
  }
  FixedText refined;
  refined.Add(folder_).Add("/").Add(program_).Add(".").Add(pass_).Add(".");
  refined.Add(getpid()).Add(".repro.hlo");
  if (pass_[0] != 0 && !refiner_.empty() && Refine(refined.text())) {
    unlink(path_.c_str());
    out.Text("note: `").Text(program_).Text(" ").Text(refined.text()).Text("` repeats this\n");
    return;
  }
  out.Text("note: `").Text(program_).Text(" ").Text(path_).Text(command_end_);
  out.Text("` repeats this\n");
}

// Starts the program again. Only what may be done in a signal handler is done.
bool CrashReproducer::Refine(const char* to) const {
  constexpr size_t kMostWords = 64;
  if (refiner_.size() + 5 > kMostWords || executable_.empty()) return false;
  FixedText before, target;
  before.Add("--reproduce-before=").Add(number_);
  target.Add("--reproduce-to=").Add(to);
  const char* words[kMostWords];
  size_t count = 0;
  words[count++] = executable_.c_str();
  words[count++] = path_.c_str();
  for (const std::string& word : refiner_) words[count++] = word.c_str();
  words[count++] = before.text();
  words[count++] = target.text();
  words[count] = nullptr;
  const pid_t child = StartProgram(words, {.input = ChildSetup::kNull,
                                           .output = ChildSetup::kNull,
                                           .error = ChildSetup::kNull,
                                           .alarm_seconds = kRefineSeconds});
  return child > 0 && WaitForChild(child).ok();
}

}  // namespace hlo
