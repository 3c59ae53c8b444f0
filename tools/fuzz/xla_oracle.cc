#include "tools/fuzz/xla_oracle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "lib/support/child_process.h"
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
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      return Error("no pipe to the process that runs XLA");
    absl::StatusOr<ChildProcess> child = ChildProcess::Start(
        {OraclePython(), kWorker},
        {.input = to[0], .output = from[1], .error = ChildSetup::kNull, .dies_with_us = true});
    close(to[0]);
    close(from[1]);
    std::FILE* const sink = fdopen(to[1], "wb");
    std::FILE* const source = fdopen(from[0], "rb");
    std::signal(SIGPIPE, SIG_IGN);
    if (child.ok()) {
      return std::unique_ptr<PythonWorker>(new PythonWorker(*std::move(child), sink, source));
    }
    std::fclose(sink);
    std::fclose(source);
    return Unsupported(SourceLoc(), "no process for XLA: {}", ToStd(child.status().message()));
  }
  ~PythonWorker() {
    std::fclose(sink_);
    std::fclose(source_);
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
  PythonWorker(ChildProcess child, std::FILE* sink, std::FILE* source)
      : child_(std::move(child)), sink_(sink), source_(source) {}
  ChildProcess child_;
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
