#include "tools/run/check_files.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "backends/registry.h"
#include "lib/support/child_process.h"
#include "lib/support/memory_file.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "lib/support/strings.h"
#include "tools/run/check_case.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

using Outcome = CheckResult::Outcome;

struct Task {
  std::string path;
  std::string platform;
};

// A process at work on a task.
struct Child {
  Task task;
  ChildProcess process;
  MemoryFile records, standard_error;
  Stopwatch watch;
};

// The files that a path stands for: itself, or those of a folder and the folders below with this
// ending.
absl::Status Collect(const std::string& path, std::string_view ending, bool named,
                     std::vector<std::string>& files) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return Error("cannot read `{}`: {}", path, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) {
    if (named || path.ends_with(ending)) files.push_back(path);
    return absl::OkStatus();
  }
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return Error("cannot read `{}`: {}", path, std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    RETURN_IF_ERROR(Collect(path + "/" + name, ending, /*named=*/false, files));
  return absl::OkStatus();
}

void AppendRecord(const CheckResult& result, std::string& out) {
  const auto size = static_cast<uint32_t>(result.message.size());
  out += static_cast<char>(result.outcome);
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += result.message;
}

std::vector<CheckResult> ReadRecords(std::string_view bytes) {
  std::vector<CheckResult> results;
  while (bytes.size() >= 5) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data() + 1, sizeof size);
    if (bytes.size() < 5 + size) break;
    results.push_back({static_cast<Outcome>(bytes[0]), std::string(bytes.substr(5, size))});
    bytes.remove_prefix(5 + size);
  }
  return results;
}

class CheckRunner {
 public:
  CheckRunner(const ToolOptions& options, std::vector<Task> tasks)
      : options_(options), tasks_(std::move(tasks)) {
    std::reverse(tasks_.begin(), tasks_.end());
    time_limit_ms_ = 1000 * (options.time_limit > 0 ? options.time_limit : 60);
    jobs_ = options.jobs > 0 ? static_cast<size_t>(options.jobs)
                             : std::max(1u, std::thread::hardware_concurrency());
    total_ = tasks_.size();
  }

  int Run() {
    while (!tasks_.empty() || !children_.empty()) {
      while (!tasks_.empty() && children_.size() < jobs_) Start();
      Wait();
      if (options_.show_progress) {
        WriteStderr(fmt::format("\r\033[K{} of {} checks",
                                total_ - tasks_.size() - children_.size(), total_));
      }
    }
    if (options_.show_progress) WriteStderr("\r\033[K");
    const int64_t failed = TallyOf(Outcome::kFailed).count;
    if (const int64_t ran = TallyOf(Outcome::kRan).count; ran > 0)
      WriteStdout(fmt::format("{} only ran: nothing was expected or compared\n", ran));
    WriteStdout(fmt::format("{} passed, {} failed, {} skipped\n", TallyOf(Outcome::kPassed).count,
                            failed, TallyOf(Outcome::kSkipped).count));
    return failed > 0 ? kExitMismatch : kExitOk;
  }

 private:
  void Start() {
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    MemoryFile records, standard_error;
    if (records.descriptor() < 0 || standard_error.descriptor() < 0)
      return Count(task, {Outcome::kFailed, "cannot make a file in memory"});
    absl::StatusOr<ChildProcess> process = ChildProcess::Fork(
        [&] { return Work(task, records); }, {.error = standard_error.descriptor()});
    if (!process.ok())
      return Count(task, {Outcome::kFailed, std::string(ToStd(process.status().message()))});
    children_.push_back({std::move(task), *std::move(process), std::move(records),
                         std::move(standard_error), Stopwatch()});
  }

  // What the child does.
  int Work(const Task& task, const MemoryFile& to) const {
    std::string bytes;
    if (options_.check_models) {
      AppendRecord(CheckModel(task.path, task.platform, options_), bytes);
    } else {
      for (const CheckResult& result : CheckHloFile(task.path, task.platform, options_))
        AppendRecord(result, bytes);
    }
    return to.Write(bytes) ? kExitOk : kExitRunFailure;
  }

  // Until one or more have ended, or are ended for their time.
  void Wait() {
    const size_t running = children_.size();
    for (PollPause pause; running > 0 && children_.size() == running; pause.Sleep()) {
      for (size_t i = children_.size(); i-- > 0;) {
        Child& child = children_[i];
        std::optional<ChildEnd> end = child.process.Poll();
        const bool is_late = !end.has_value() && child.watch.milliseconds() > time_limit_ms_;
        if (is_late) end = child.process.Kill();
        if (!end.has_value()) continue;
        Finish(child, *end, is_late);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // The first line that a child wrote to standard error.
  static std::string LastWords(const Child& child) {
    constexpr size_t kMostOfLine = 512;
    const std::string text = child.standard_error.Start(kMostOfLine);
    return text.empty() ? "" : ": " + text.substr(0, text.find('\n'));
  }

  void Finish(const Child& child, const ChildEnd& end, bool is_late) {
    const std::string last_words = LastWords(child);
    for (const CheckResult& result : ReadRecords(child.records.Start())) Count(child.task, result);
    if (is_late) {
      Count(child.task, {Outcome::kSkipped, fmt::format("{}: takes more than {:.0f} s",
                                                        child.task.path, time_limit_ms_ / 1000)});
    } else if (end.is_signal) {
      Count(child.task,
            {Outcome::kFailed, fmt::format("{}: ended by {} ({}){}", child.task.path, ToString(end),
                                           strsignal(end.code), last_words)});
    } else if (!end.ok()) {
      Count(child.task, {Outcome::kFailed, fmt::format("{}: ended with {}{}", child.task.path,
                                                       ToString(end), last_words)});
    }
  }

  void Count(const Task& task, const CheckResult& result) {
    Outcome outcome = result.outcome;
    if (options_.strict && outcome == Outcome::kSkipped) outcome = Outcome::kFailed;
    for (Tally& tally : tallies_) {
      if (tally.outcome == outcome) ++tally.count;
    }
    const bool is_quiet = outcome != Outcome::kFailed && outcome != Outcome::kSkipped;
    if (is_quiet && !options_.verbose) return;
    std::string message = result.message;
    if (message.find(task.path) == std::string::npos)
      message = task.path + (message.empty() ? "" : ": " + message);
    WriteStdout(fmt::format("{}{}: [{}] {}\n", options_.show_progress ? "\r\033[K" : "",
                            TallyOf(outcome).word, task.platform, message));
  }

  struct Tally {
    Outcome outcome;
    std::string_view word;
    int64_t count = 0;
  };
  const Tally& TallyOf(Outcome outcome) const {
    return *std::find_if(std::begin(tallies_), std::end(tallies_),
                         [&](const Tally& tally) { return tally.outcome == outcome; });
  }

  const ToolOptions& options_;
  std::vector<Task> tasks_;  // the next one last
  std::vector<Child> children_;
  double time_limit_ms_ = 0;
  size_t jobs_ = 1;
  size_t total_ = 0;
  Tally tallies_[5] = {{Outcome::kPassed, "PASS"},
                       {Outcome::kFailed, "FAIL"},
                       {Outcome::kSkipped, "SKIP"},
                       {Outcome::kRan, "RAN"},
                       {Outcome::kNotMeant, "NOT MEANT"}};
};

absl::Status MakeTasks(const ToolOptions& options, const std::vector<std::string>& paths,
                       std::vector<Task>& tasks) {
  std::vector<std::string> platforms;
  if (options.platforms.empty() || options.platforms == "all") {
    for (const PlatformInfo& info : AllBackends()) platforms.emplace_back(info.name);
  } else {
    for (std::string_view name : Split(options.platforms, ',')) {
      ASSIGN_OR_RETURN(const Backend* backend, FindBackend(name));
      platforms.emplace_back(backend->name());
    }
  }
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(Collect(path, options.check_models ? ".json" : ".hlo", /*named=*/true, files));
  }
  if (files.empty()) return Error("there are no files to check");
  for (const std::string& file : files) {
    for (const std::string& platform : platforms) tasks.push_back({file, platform});
  }
  return absl::OkStatus();
}

}  // namespace

int CheckFiles(const ToolOptions& options, const std::vector<std::string>& paths) {
  if (const auto pipeline = options.gpu_pass_flags.Parse(options.passes, options.gpu_properties);
      !pipeline.ok()) {
    const Source source("--passes", options.passes);
    return ReportError(pipeline.status(), &source);
  }
  std::vector<Task> tasks;
  if (const absl::Status status = MakeTasks(options, paths, tasks); !status.ok())
    return ReportToolError("hlo-run", status);
  // Several at a time share the processors.
  ToolOptions shared = options;
  if (shared.threads == 0) shared.threads = 2;
  return CheckRunner(shared, std::move(tasks)).Run();
}

}  // namespace hlo
