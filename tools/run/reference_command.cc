#include "tools/run/reference_command.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lib/support/status.h"
#include "tools/run/outputs.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// A folder that goes with this object.
class ScratchFolder final {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    RemoveLeftOver(parent);
    std::string path = parent / fmt::format("{}{}-XXXXXX", kPrefix, getpid());
    if (error || mkdtemp(path.data()) == nullptr)
      return Error("cannot make a folder for --reference: {}", std::strerror(errno));
    return std::make_unique<ScratchFolder>(std::move(path));
  }
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string In(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  // Those of processes that are gone: a killed one could not.
  static void RemoveLeftOver(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kPrefix)) continue;
      const pid_t owner = std::atoi(name.c_str() + kPrefix.size());
      if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH)
        std::filesystem::remove_all(entry.path(), ignored);
    }
  }

  static constexpr std::string_view kPrefix = "hlo-reference-";
  std::string path_;
};

std::string Replaced(std::string text, std::string_view what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// What the command prints.
absl::StatusOr<std::string> OutputOf(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return Error("cannot start `{}`: {}", command, std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> part;
  while (const size_t bytes = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), bytes);
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return absl::UnavailableError(fmt::format(
      "the reference `{}` ended with {} {}", command, WIFEXITED(status) ? "exit code" : "signal",
      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
}

}  // namespace

bool IsReferenceCommand(std::string_view word) { return word.find(' ') != std::string_view::npos; }

absl::StatusOr<ExpectedValues> RunReferenceCommand(const std::string& command,
                                                   const std::string& module,
                                                   absl::Span<const Literal> arguments,
                                                   Shape result_shape) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder, ScratchFolder::Make());
  const std::string inputs = folder->In("inputs"), outputs = folder->In("outputs");
  RETURN_IF_ERROR(WriteArrays(arguments, inputs, "arg"));
  RETURN_IF_ERROR(CheckOutputFolder(outputs));
  std::string words = Replaced(command, "{module}", ShellQuoted(module));
  words = Replaced(std::move(words), "{inputs}", ShellQuoted(inputs));
  words = Replaced(std::move(words), "{outputs}", ShellQuoted(outputs));
  ASSIGN_OR_RETURN(const std::string text, OutputOf(words));
  const bool left_files = !std::filesystem::is_empty(outputs);
  absl::StatusOr<ExpectedValues> values = ReadExpected(left_files ? outputs : text, result_shape);
  if (values.ok()) return values;
  return Error("the reference `{}` gives no `{}`: {}", command, result_shape,
               std::string(values.status().message()));
}

}  // namespace hlo
