#include "tools/fuzz/xla_oracle.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/leaves.h"

namespace hlo {
namespace {

constexpr const char* kWorker = "scripts/xla_worker.py";

class PythonWorker {
 public:
  static absl::StatusOr<std::unique_ptr<PythonWorker>> Start() {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return Error("no pipe to the process that runs XLA");
    const std::string python = OraclePython();
    const pid_t child = fork();
    if (child < 0) return Error("cannot start a process for XLA");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      execlp(python.c_str(), python.c_str(), kWorker, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    std::signal(SIGPIPE, SIG_IGN);
    return std::unique_ptr<PythonWorker>(
        new PythonWorker(child, fdopen(to[1], "wb"), fdopen(from[0], "rb")));
  }
  ~PythonWorker() {
    std::fclose(sink_);
    std::fclose(source_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  void Send(const std::string& text, const std::vector<Literal>& arrays) {
    fmt::print(sink_, "{} {}\n", text.size(), arrays.size());
    std::fwrite(text.data(), 1, text.size(), sink_);
    for (const Literal& array : arrays) {
      fmt::print(sink_, "{}", Text(array.element_type()));
      for (const int64_t dim : array.shape().dims()) fmt::print(sink_, " {}", dim);
      fmt::print(sink_, "\n");
      std::fwrite(array.data(), 1, static_cast<size_t>(array.shape().byte_size()), sink_);
    }
    std::fflush(sink_);
  }

  // False when the process has died.
  bool ReadLine(std::string& line) {
    line.clear();
    for (int c = std::fgetc(source_); c != '\n'; c = std::fgetc(source_)) {
      if (c == EOF) return false;
      line += static_cast<char>(c);
    }
    return true;
  }
  bool ReadInto(Literal& array) {
    const auto size = static_cast<size_t>(array.shape().byte_size());
    return std::fread(array.mutable_data(), 1, size, source_) == size;
  }

 private:
  PythonWorker(pid_t child, std::FILE* sink, std::FILE* source)
      : child_(child), sink_(sink), source_(source) {}
  pid_t child_;
  std::FILE* sink_;
  std::FILE* source_;
};

std::unique_ptr<PythonWorker>& TheWorker() {
  static std::unique_ptr<PythonWorker> worker;
  return worker;
}

absl::Status Died() {
  TheWorker().reset();
  return Unsupported(SourceLoc(), "XLA ended its process");
}

std::string HeaderOf(Shape shape) {
  std::string line(Text(shape.element_type()));
  for (const int64_t dim : shape.dims()) line += fmt::format(" {}", dim);
  return line;
}

}  // namespace

std::string OraclePython() {
  if (const char* python = std::getenv("HLO_ORACLE_PYTHON"); python != nullptr) return python;
  const char* home = std::getenv("HOME");
  const std::string installed =
      fmt::format("{}/.cache/hlo-oracle/bin/python", home == nullptr ? "" : home);
  return std::filesystem::exists(installed) ? installed : "python3";
}

absl::StatusOr<Literal> RunOnXla(const std::string& text, const std::vector<Literal>& arguments,
                                 Shape result) {
  std::unique_ptr<PythonWorker>& worker = TheWorker();
  if (worker == nullptr) {
    ASSIGN_OR_RETURN(worker, PythonWorker::Start());
  }
  std::vector<Literal> arrays;
  for (const Literal& argument : arguments) {
    for (Literal& leaf : ArrayLeaves(argument)) arrays.push_back(std::move(leaf));
  }
  worker->Send(text, arrays);
  std::string line;
  if (!worker->ReadLine(line)) return Died();
  if (line.starts_with("no ")) return Unsupported(SourceLoc(), "XLA says: {}", line.substr(3));
  std::vector<Literal> outputs;
  absl::Status status;
  ForEachLeaf(result, [&](Shape leaf, const ShapeIndex&) {
    if (!status.ok()) return;
    Literal output(leaf.WithDefaultLayout());
    if (!worker->ReadLine(line) || line != HeaderOf(leaf) || !worker->ReadInto(output)) {
      status = Died();
    } else {
      outputs.push_back(std::move(output));
    }
  });
  RETURN_IF_ERROR(status);
  size_t at = 0;
  return FromLeaves(result, outputs, at);
}

}  // namespace hlo
