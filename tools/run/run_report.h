// The times of a run as a table for people and as JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "tools/run/bench.h"
#include "tools/support/compare_values.h"

namespace hlo {

struct RunReport {
  double parse_ms = 0;
  double verify_ms = 0;  // between passes
  double passes_ms = 0;  // those of --passes, and the platform's
  double codegen_ms = 0;
  CodegenTimes codegen;
  double load_ms = 0;
  double compile_ms = 0;  // from the parsed module to one that can run
  // To the device and back; copies on the host's own memory where there is no other.
  double inputs_ms = 0, outputs_ms = 0;
  bool has_transfers = false;
  RunTimes run;
  double many_runs_ms = 0;  // of one run among several that wait once (BenchManyRuns); 0: not known
  int64_t threads = 0;
  int64_t peak_bytes = 0;
  std::vector<std::pair<int64_t, OutputVerdict>> comparisons;  // by device and output
};

//   {"schema":1,"stages_ms":{"parse":…,"verify":…,"passes":…,"codegen":…,"load":…},
//    "codegen_ms":{"buffers":…,"kernels":…,"llvm":…,"link":…},"compile_ms":…,
//    "inputs_ms":…,"outputs_ms":…,"run_ms":{…},"iterations":…,…}
// and, where something was compared, "comparisons":[{"device":0,"output":0,"shape":"f32[4]",
// "equal":true,"compared":4,"mismatched":0,"nans":0,"max_abs_error":…,"max_rel_error":…,…}];
// null stands for infinity. On a device that works beside the host: "run_throughput_ms", of a run
// among several that wait once.
std::string ToJson(const RunReport& report);
// The same numbers in two lines, names and values.
std::string ToCsv(const RunReport& report);
// A few lines with one number each.
std::string ToTable(const RunReport& report);
// "9.574 ms", "312 ns": four digits and the unit that fits.
std::string TimeText(double milliseconds);
// "95.1 GFLOP/s" of 95.1e9 and "FLOP/s".
std::string RateText(double rate, std::string_view unit);

// What --baseline= compares with: an earlier report.
struct Baseline {
  double compile_ms = 0;
  RunTimes run;
};
absl::StatusOr<Baseline> ReadBaseline(const std::string& path);

struct BaselineVerdict {
  std::string text;      // two lines: run and compile, old and new
  double run_ratio = 1;  // medians, new to old
};
// Differences below what the times vary by are called noise.
BaselineVerdict CompareWith(const Baseline& baseline, const RunReport& report);

}  // namespace hlo
