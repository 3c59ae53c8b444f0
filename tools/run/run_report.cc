#include "tools/run/run_report.h"

#include <fmt/format.h>

namespace hlo {

std::string ToJson(const RunReport& report) {
  const RunTimes& run = report.run;
  return fmt::format(
      R"({{"schema":1,"stages_ms":{{"parse":{:.6g},"passes":{:.6g},"codegen":{:.6g},"load":{:.6g}}},"compile_ms":{:.6g},)"
      R"("run_ms":{{"min":{:.6g},"median":{:.6g},"p90":{:.6g},"mean":{:.6g}}},"iterations":{},"threads":{},"peak_bytes":{}}})"
      "\n",
      report.parse_ms, report.passes_ms, report.codegen_ms, report.load_ms, report.compile_ms,
      run.min, run.median, run.p90, run.mean, run.iterations, report.threads, report.peak_bytes);
}

std::string ToTable(const RunReport& report) {
  std::string text;
  const auto line = [&text](const char* name, double ms) {
    text += fmt::format("{:<10}{:>12.3f} ms\n", name, ms);
  };
  line("parse", report.parse_ms);
  line("passes", report.passes_ms);
  line("codegen", report.codegen_ms);
  line("load", report.load_ms);
  line("compile", report.compile_ms);
  if (report.run.iterations == 1) {
    line("run", report.run.median);
  } else if (report.run.iterations > 1) {
    text += fmt::format(
        "{:<10}{:>12.3f} ms median of {} runs (min {:.3f}, p90 {:.3f}, mean {:.3f})\n", "run",
        report.run.median, report.run.iterations, report.run.min, report.run.p90, report.run.mean);
  }
  text += fmt::format("{:<10}{:>12.2f} MiB peak, {} thread{}\n", "memory",
                      static_cast<double>(report.peak_bytes) / 1048576, report.threads,
                      report.threads == 1 ? "" : "s");
  return text;
}

}  // namespace hlo
