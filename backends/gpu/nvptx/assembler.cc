#include "backends/gpu/nvptx/assembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "backends/gpu/cuda/nvjitlink.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

extern char** environ;

namespace hlo::gpu {
namespace {

bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// A folder that goes away with its contents.
class TemporaryFolder final {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hlo-ptx-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a program with its output in a file; gives its exit status.
absl::StatusOr<int> RunProgram(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int problem =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return Error("cannot run `{}`: error {}", words[0], problem);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string WarningsIn(const std::string& log) {
  std::string warnings;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("warning") != std::string::npos) warnings += line + "\n";
  }
  return warnings;
}

}  // namespace

absl::StatusOr<std::string> FindPtxas() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("HLO_PTXAS")) places.emplace_back(named);
  if (const char* path = std::getenv("PATH")) {
    for (const std::string_view folder : Split(path, ':'))
      places.push_back(std::string(folder) + "/ptxas");
  }
  places.emplace_back("/usr/local/cuda/bin/ptxas");
  for (const std::string& place : places) {
    if (IsProgram(place)) return place;
  }
  return absl::NotFoundError("ptxas not found (looked at $HLO_PTXAS, PATH, /usr/local/cuda/bin)");
}

absl::StatusOr<Assembled> AssembleByPtxas(std::string_view ptx, std::string_view target) {
  ASSIGN_OR_RETURN(const std::string ptxas, FindPtxas());
  const TemporaryFolder folder;
  if (folder.path().empty()) return Error("cannot make a temporary folder");
  const std::string in = folder.path() + "/kernels.ptx";
  const std::string out = folder.path() + "/kernels.cubin";
  const std::string log = folder.path() + "/log";
  RETURN_IF_ERROR(WriteFile(in, ptx));
  ASSIGN_OR_RETURN(const int status,
                   RunProgram({ptxas, fmt::format("-arch={}", target), "-o", out, in}, log));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  if (status != 0) return Internal("ptxas refuses the code for `{}`: {}", target, text);
  Assembled result;
  ASSIGN_OR_RETURN(result.cubin, ReadFile(out));
  result.warnings = WarningsIn(text);
  return result;
}

bool HasAssembler() { return LoadNvJitLink().ok() || FindPtxas().ok(); }

absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target) {
  const absl::StatusOr<const NvJitLink*> library = LoadNvJitLink();
  if (!library.ok()) return AssembleByPtxas(ptx, target);
  Assembled result;
  ASSIGN_OR_RETURN(result.cubin, (*library)->Link(ptx, target));
  return result;
}

}  // namespace hlo::gpu
