#include "tools/run/run_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// Where one run in ten takes so much longer than the median, a word is due.
constexpr double kNoisy = 0.05;

struct Unit {
  double size;
  std::string_view name;
};

// With the largest unit that leaves a number of at least 1; four digits.
std::string WithUnit(double value, absl::Span<const Unit> units) {
  const Unit* unit = &units.back();
  for (const Unit& candidate : units) {
    if (value < candidate.size) continue;
    unit = &candidate;
    break;
  }
  const double number = value / unit->size;
  const int digits = number < 10 ? 3 : number < 100 ? 2 : number < 1000 ? 1 : 0;
  return fmt::format("{:.{}f} {}", number, digits, unit->name);
}

std::string BytesText(int64_t bytes) {
  constexpr Unit kUnits[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return WithUnit(static_cast<double>(bytes), kUnits);
}

std::string TimesJson(const RunTimes& run) {
  return fmt::format(
      R"({{"min":{:.6g},"median":{:.6g},"p90":{:.6g},"p95":{:.6g},"p99":{:.6g},"max":{:.6g},)"
      R"("mean":{:.6g},"stddev":{:.6g}}})",
      run.min, run.median, run.p90, run.p95, run.p99, run.max, run.mean, run.deviation);
}

std::string NumberOrNull(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

std::string ComparisonsJson(const RunReport& report) {
  std::string text;
  for (const auto& [device, output] : report.comparisons) {
    text += fmt::format(R"({}{{"device":{},"output":{},"shape":"{}",)", text.empty() ? "" : ",",
                        device, output.number, output.shape);
    if (output.is_ignored) {
      text += R"("ignored":true})";
      continue;
    }
    text += fmt::format(
        R"("equal":{},"compared":{},"mismatched":{},"nans":{},"max_abs_error":{},"max_rel_error":{},)"
        R"("abs":{:.6g},"rel":{:.6g},"ulps":{}}})",
        output.ok, output.compared, output.mismatched, output.nans,
        NumberOrNull(output.max_abs_error), NumberOrNull(output.max_rel_error),
        output.tolerance.abs, output.tolerance.rel, output.tolerance.ulps);
  }
  return text.empty() ? "" : fmt::format(R"(,"comparisons":[{}])", text);
}

absl::StatusOr<Baseline> BaselineOf(const JsonValue& root) {
  Baseline baseline;
  ASSIGN_OR_RETURN(baseline.compile_ms, root.GetDouble("compile_ms"));
  ASSIGN_OR_RETURN(const JsonValue* run, root.Get("run_ms", JsonValue::Kind::kObject));
  ASSIGN_OR_RETURN(baseline.run.median, run->GetDouble("median"));
  ASSIGN_OR_RETURN(baseline.run.deviation, run->GetDouble("stddev"));
  ASSIGN_OR_RETURN(baseline.run.iterations, root.GetInt("iterations"));
  return baseline;
}

}  // namespace

std::string TimeText(double milliseconds) {
  constexpr Unit kUnits[] = {{1e3, "s"}, {1, "ms"}, {1e-3, "us"}, {1e-6, "ns"}};
  if (milliseconds == 0) return "0 ms";
  return WithUnit(milliseconds, kUnits);
}

std::string RateText(double rate, std::string_view unit) {
  constexpr Unit kPrefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"},
                                {1e6, "M"},  {1e3, "k"},  {1, ""}};
  return WithUnit(rate, kPrefixes) + std::string(unit);
}

std::string ToJson(const RunReport& report) {
  return fmt::format(
      R"({{"schema":1,"stages_ms":{{"parse":{:.6g},"verify":{:.6g},"passes":{:.6g},"codegen":{:.6g},"load":{:.6g}}},)"
      R"("codegen_ms":{{"buffers":{:.6g},"kernels":{:.6g},"llvm":{:.6g},"link":{:.6g}}},"compile_ms":{:.6g},)"
      R"("inputs_ms":{:.6g},"outputs_ms":{:.6g},)"
      R"("run_ms":{},{}"iterations":{},"interrupted":{},"threads":{},"peak_bytes":{}{}}})"
      "\n",
      report.parse_ms, report.verify_ms, report.passes_ms, report.codegen_ms, report.load_ms,
      report.codegen.buffers_ms, report.codegen.kernels_ms, report.codegen.llvm_ms,
      report.codegen.link_ms, report.compile_ms, report.inputs_ms, report.outputs_ms,
      TimesJson(report.run),
      report.many_runs_ms > 0 ? fmt::format("\"run_throughput_ms\":{:.6g},", report.many_runs_ms)
                              : "",
      report.run.iterations, report.run.is_interrupted, report.threads, report.peak_bytes,
      ComparisonsJson(report));
}

std::string ToCsv(const RunReport& report) {
  const RunTimes& run = report.run;
  const std::pair<const char*, double> columns[] = {
      {"parse_ms", report.parse_ms},
      {"verify_ms", report.verify_ms},
      {"passes_ms", report.passes_ms},
      {"codegen_ms", report.codegen_ms},
      {"load_ms", report.load_ms},
      {"compile_ms", report.compile_ms},
      {"inputs_ms", report.inputs_ms},
      {"outputs_ms", report.outputs_ms},
      {"median_ms", run.median},
      {"min_ms", run.min},
      {"p90_ms", run.p90},
      {"p95_ms", run.p95},
      {"p99_ms", run.p99},
      {"max_ms", run.max},
      {"mean_ms", run.mean},
      {"stddev_ms", run.deviation},
      {"runs", static_cast<double>(run.iterations)},
      {"threads", static_cast<double>(report.threads)},
      {"peak_bytes", static_cast<double>(report.peak_bytes)},
  };
  std::string names, values;
  for (const auto& [name, value] : columns) {
    const char* const comma = names.empty() ? "" : ",";
    names += fmt::format("{}{}", comma, name);
    values += fmt::format("{}{:.9g}", comma, value);
  }
  return names + "\n" + values + "\n";
}

std::string ToTable(const RunReport& report) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    // Numbers end, and units begin, below each other.
    const size_t blank = value.find(' ');
    text += fmt::format("{:<10}{:>12}{}\n", name, value.substr(0, blank), value.substr(blank));
  };
  line("parse", TimeText(report.parse_ms));
  line("verify", TimeText(report.verify_ms));
  line("passes", TimeText(report.passes_ms));
  line("codegen", TimeText(report.codegen_ms));
  if (report.codegen_ms > 0) {
    line("  buffers", TimeText(report.codegen.buffers_ms));
    line("  kernels", TimeText(report.codegen.kernels_ms));
    line("  llvm", TimeText(report.codegen.llvm_ms));
    line("  link", TimeText(report.codegen.link_ms));
  }
  line("load", TimeText(report.load_ms));
  line("compile", TimeText(report.compile_ms));
  const RunTimes& run = report.run;
  if (report.has_transfers) {
    line("inputs", TimeText(report.inputs_ms));
    line("outputs", TimeText(report.outputs_ms));
  }
  if (run.iterations == 1) line("run", TimeText(run.median));
  if (run.iterations > 1) {
    line("run", fmt::format("{} median of {} runs{}", TimeText(run.median), run.iterations,
                            run.is_interrupted ? " (interrupted)" : ""));
    text += fmt::format("{:>10}  min {}, p90 {}, p95 {}, p99 {}, max {}, mean {}, stddev {}\n", "",
                        TimeText(run.min), TimeText(run.p90), TimeText(run.p95), TimeText(run.p99),
                        TimeText(run.max), TimeText(run.mean), TimeText(run.deviation));
    text += fmt::format("{:>10}  coefficient of variation {:.2g} %\n", "",
                        run.mean > 0 ? 100 * run.deviation / run.mean : 0.0);
    if (run.p90 > (1 + kNoisy) * run.median) {
      text += fmt::format("{:>10}  noisy: other load, a changing clock or page faults; ", "");
      text += "the median and min say most\n";
    }
  }
  if (report.many_runs_ms > 0)
    line("throughput",
         fmt::format("{} a run of {} that wait once", TimeText(report.many_runs_ms), kRunsAtOnce));
  line("memory", fmt::format("{} peak, {} thread{}", BytesText(report.peak_bytes), report.threads,
                             report.threads == 1 ? "" : "s"));
  return text;
}

absl::StatusOr<Baseline> ReadBaseline(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  const auto source = std::make_shared<const Source>(path, std::move(text));
  absl::StatusOr<JsonDocument> document = ParseJson(source);
  if (!document.ok()) return WithPlacesInText(document.status(), *source);
  absl::StatusOr<Baseline> baseline = BaselineOf(document->root);
  if (!baseline.ok()) return WithPlacesInText(baseline.status(), *source);
  return baseline;
}

BaselineVerdict CompareWith(const Baseline& baseline, const RunReport& report) {
  // By what the median of so many times varies. A single long run among many makes the standard
  // deviation large; where nine of ten are known to be near the median, these say more.
  const auto error = [](const RunTimes& times) {
    constexpr double kOfNormal = 1 / 1.2816;  // standard deviations in 90 % - 50 %
    const double spread = times.p90 > 0
                              ? std::min(times.deviation, kOfNormal * (times.p90 - times.median))
                              : times.deviation;
    return spread / std::sqrt(static_cast<double>(std::max<int64_t>(times.iterations, 1)));
  };
  const RunTimes &before = baseline.run, &now = report.run;
  BaselineVerdict verdict;
  verdict.run_ratio = before.median > 0 ? now.median / before.median : 1;
  const double difference = now.median - before.median;
  constexpr double kSmall = 0.005;  // of the median: less is not told apart on another day
  const bool is_noise = std::abs(difference) <=
                        std::max(kSmall * before.median, 3 * std::hypot(error(before), error(now)));
  verdict.text = fmt::format("run       {:>12.3f} x the baseline's {} ({})\n", verdict.run_ratio,
                             TimeText(before.median),
                             is_noise         ? "within noise"
                             : difference > 0 ? "slower"
                                              : "faster");
  if (baseline.compile_ms > 0) {
    verdict.text +=
        fmt::format("compile   {:>12.3f} x the baseline's {}\n",
                    report.compile_ms / baseline.compile_ms, TimeText(baseline.compile_ms));
  }
  return verdict;
}

}  // namespace hlo
