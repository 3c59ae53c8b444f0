#include "backends/gpu/nvptx/assembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

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

// Reads what `ptxas -v` says:
//   ptxas info    : Compiling entry function 'k' for 'sm_90'
//       8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
//   ptxas info    : Used 16 registers, used 1 barriers, 4224 bytes smem
void ReadLog(const std::string& log, Assembled& result) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find("entry function '"); at != std::string::npos) {
      const size_t start = at + 16;
      result.kernels.push_back({line.substr(start, line.find('\'', start) - start)});
    } else if (line.find("warning") != std::string::npos) {
      result.warnings += line + "\n";
    }
    if (result.kernels.empty()) continue;
    KernelResources& kernel = result.kernels.back();
    int stack = 0, stores = 0, loads = 0;
    if (std::sscanf(line.c_str(), " %d bytes stack frame, %d bytes spill stores, %d bytes spill",
                    &stack, &stores, &loads) == 3) {
      kernel.stack_bytes = stack;
      kernel.spill_bytes = stores + loads;
    }
    if (const size_t at = line.find("Used "); at != std::string::npos)
      kernel.registers = std::atoi(line.c_str() + at + 5);
    if (const size_t at = line.find(" bytes smem"); at != std::string::npos) {
      const size_t start = line.rfind(' ', at - 1) + 1;
      kernel.shared_bytes = std::atoi(line.c_str() + start);
    }
  }
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

absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target) {
  ASSIGN_OR_RETURN(const std::string ptxas, FindPtxas());
  const TemporaryFolder folder;
  if (folder.path().empty()) return Error("cannot make a temporary folder");
  const std::string in = folder.path() + "/kernels.ptx";
  const std::string out = folder.path() + "/kernels.cubin";
  const std::string log = folder.path() + "/log";
  RETURN_IF_ERROR(WriteFile(in, ptx));
  ASSIGN_OR_RETURN(const int status,
                   RunProgram({ptxas, "-v", fmt::format("-arch={}", target), "-o", out, in}, log));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  if (status != 0) return Internal("ptxas refuses the code for `{}`: {}", target, text);
  Assembled result;
  ASSIGN_OR_RETURN(result.cubin, ReadFile(out));
  ReadLog(text, result);
  return result;
}

std::string ToTable(const std::vector<KernelResources>& kernels) {
  std::string text = "registers  shared  stack  spills  kernel\n";
  for (const KernelResources& kernel : kernels) {
    text += fmt::format("{:9}  {:6}  {:5}  {:6}  {}\n", kernel.registers, kernel.shared_bytes,
                        kernel.stack_bytes, kernel.spill_bytes, kernel.name);
  }
  return text;
}

}  // namespace hlo::gpu
