#include "tools/run/bench_table.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "lib/ir/verify_meaning.h"
#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/run/bench.h"
#include "tools/run/custom_calls.h"
#include "tools/run/devices.h"
#include "tools/run/run_report.h"
#include "tools/support/elided.h"
#include "tools/support/progress.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// Turns of each; the time that --duration gives a row is divided among them.
constexpr int kTurns = 5;

// A file on a platform.
struct Row {
  std::string file, platform;
  std::shared_ptr<const Source> source;
  double compile_ms = 0;
  CompileStats stats;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<DeviceStates> states;
  std::vector<double> times;
  RunTimes run;
};

absl::Status Prepare(const ToolOptions& options, Row& row) {
  ASSIGN_OR_RETURN(const std::vector<InputText> inputs, ReadInputs(row.file, /*split=*/false));
  row.source = inputs.front().source;
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadModule(inputs.front(), Runnable()));
  RETURN_IF_ERROR(VerifyMeaning(*module));
  if (module->entry() == nullptr)
    return Error("module `{}` has no entry computation", module->name());
  RETURN_IF_ERROR(GiveMeanings(*module, options.custom_calls));
  RETURN_IF_ERROR(SetDevices(*module, options.num_replicas, options.num_partitions));
  RETURN_IF_ERROR(FillElided(*module, options.fill_elided).status());
  ASSIGN_OR_RETURN(const DeviceMesh mesh,
                   ChooseDevices(*module, options.num_replicas > 0 || options.num_partitions > 0));
  const InputSources sources{options.inputs,     options.input_dir,   options.inputs_from,
                             options.seed_value, options.input_dists, options.input_ranges,
                             /*recorded=*/{},    /*explain=*/false};
  ASSIGN_OR_RETURN(const DeviceArguments arguments,
                   MakeDeviceArguments(*module, sources, mesh, options.shared_inputs));
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(row.platform));
  backend->Open().IgnoreError();  // what is wrong with it, compiling says
  const double start = Now();
  ASSIGN_OR_RETURN(row.executable,
                   backend->Compile(std::move(module),
                                    CompilerOptions(options, DenormalsOf(options, row.platform))));
  row.compile_ms = Now() - start;
  RunOptions run;
  run.max_loop_iterations = options.max_loop_iterations;
  ASSIGN_OR_RETURN(row.states, DeviceStates::Make(*row.executable, arguments.values, mesh, run));
  return absl::OkStatus();
}

std::vector<Row> RowsOf(const ToolOptions& options) {
  std::vector<std::string> files = {options.file}, platforms;
  for (const std::string_view file : Split(options.against, ',')) {
    if (!Trim(file).empty()) files.emplace_back(Trim(file));
  }
  if (options.platforms == "all") {
    for (const PlatformInfo& info : AllBackends()) platforms.emplace_back(info.name);
  } else {
    for (const std::string_view name : Split(options.platforms, ','))
      if (!Trim(name).empty()) platforms.emplace_back(Trim(name));
  }
  if (platforms.empty()) platforms.push_back(options.platform);
  std::vector<Row> rows;
  for (const std::string& file : files) {
    for (const std::string& platform : platforms) {
      Row& row = rows.emplace_back();
      row.file = file;
      row.platform = platform;
    }
  }
  return rows;
}

// The rows in turns, until one is interrupted.
absl::Status Measure(const ToolOptions& options, std::vector<Row>& rows, Progress& progress,
                     bool& is_interrupted) {
  BenchOptions bench{CeilDiv(options.bench_min_runs, kTurns), options.bench_min_seconds / kTurns,
                     options.warmup / kTurns, CeilDiv(options.iterations, kTurns)};
  for (int turn = 0; turn < kTurns && !is_interrupted; ++turn) {
    for (Row& row : rows) {
      progress.Stage(
          fmt::format("turn {} of {}: {} on {}", turn + 1, kTurns, row.file, row.platform));
      ASSIGN_OR_RETURN(const RawTimes times, BenchRaw(*row.states, bench));
      row.times.insert(row.times.end(), times.milliseconds.begin(), times.milliseconds.end());
      is_interrupted = times.is_interrupted;
      if (is_interrupted) break;
    }
  }
  progress.Stage("");
  for (Row& row : rows) {
    if (!row.times.empty()) row.run = Summarise(row.times);
  }
  return absl::OkStatus();
}

std::string Table(const std::vector<Row>& rows) {
  size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.file.size());
  std::string text =
      fmt::format("{:<{}}  {:<11}  {:>12}  {:>12}  {:>12}  {:>12}  {:>8}  {:>6}\n", "file", width,
                  "platform", "compile", "run", "min", "p95", "ratio", "runs");
  for (const Row& row : rows) {
    const double first = rows.front().run.median;
    text += fmt::format("{:<{}}  {:<11}  {:>12}  {:>12}  {:>12}  {:>12}  {:>8.3f}  {:>6}\n",
                        row.file, width, row.platform, TimeText(row.compile_ms),
                        TimeText(row.run.median), TimeText(row.run.min), TimeText(row.run.p95),
                        first > 0 ? row.run.median / first : 0.0, row.times.size());
  }
  return text + "run: the median; ratio: to the first\n";
}

std::string Csv(const std::vector<Row>& rows) {
  std::string text = "file,platform,compile_ms,median_ms,min_ms,p95_ms,runs\n";
  for (const Row& row : rows) {
    text +=
        fmt::format("{},{},{:.6g},{:.6g},{:.6g},{:.6g},{}\n", JsonQuoted(row.file), row.platform,
                    row.compile_ms, row.run.median, row.run.min, row.run.p95, row.times.size());
  }
  return text;
}

std::string Json(const std::vector<Row>& rows) {
  std::string text = R"({"schema":1,"rows":[)";
  for (const Row& row : rows) {
    text += fmt::format(
        R"({}{{"file":{},"platform":"{}","compile_ms":{:.6g},"median_ms":{:.6g},"min_ms":{:.6g},"p95_ms":{:.6g},"runs":{}}})",
        &row == rows.data() ? "" : ",", JsonQuoted(row.file), row.platform, row.compile_ms,
        row.run.median, row.run.min, row.run.p95, row.times.size());
  }
  return text + "]}\n";
}

}  // namespace

bool WantsBenchTable(const ToolOptions& options) {
  return options.bench && (!options.platforms.empty() || !options.against.empty());
}

int RunBenchTable(const ToolOptions& options) {
  std::vector<Row> rows = RowsOf(options);
  Progress progress(options.show_progress);
  if (!options.json.empty()) {
    if (const absl::Status status = CheckWritable(options.json); !status.ok())
      return ReportToolError("hlo-run", status);
  }
  for (Row& row : rows) {
    progress.Stage(fmt::format("compiling {} for {}", row.file, row.platform));
    const absl::Status status = Prepare(options, row);
    progress.Stage("");
    if (!status.ok()) return ReportError(status, row.source.get());
  }
  bool is_interrupted = false;
  absl::Status status = Measure(options, rows, progress, is_interrupted);
  if (!status.ok()) return ReportToolError("hlo-run", status);
  WriteStdout(options.csv ? Csv(rows) : Table(rows));
  if (!options.json.empty()) status = WriteFile(options.json, Json(rows));
  if (!status.ok()) return ReportToolError("hlo-run", status);
  return is_interrupted ? kExitInterrupted : kExitOk;
}

}  // namespace hlo
