// Which operations a run spends its time in: how often each runs, how long, what it does in that
// time, and how near that is to what the machine can do. On compiled platforms an operation is what
// their thunks compute (a fusion, a product, …); the interpreter has all instructions.
//
// Of several devices the times are those of all; calls, and the time in a run, are those of one.
// What a simulator takes says nothing: of its operations the least times are shown that the GPU
// would take, by its data sheet.
//
//   $ hlo-run f.hlo --profile
//   $ hlo-run f.hlo --profile=f.json,f.svg,f.trace.json
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "passes/gpu/gpu_device.h"
#include "tools/run/device_threads.h"
#include "tools/run/peaks.h"

namespace hlo {

struct ProfileRow {
  std::string name;    // of the instruction after the passes
  std::string kind;    // kernel, dot, while, …; for the interpreter the opcode
  std::string shape;   // "f32[2,3]"; empty where the instruction is not known
  std::string source;  // "model.py:12", or empty
  double calls = 0;    // in a run
  // Of a call, without what it calls.
  double min_ms = 0, median_ms = 0, p95_ms = 0;
  double run_ms = 0;            // in a run, on average; of a simulated GPU the least
  double share = 0;             // of all rows
  double flops = 0, bytes = 0;  // of a call, by lib/analysis/cost.h
  double least_ms = 0;          // of a call, by the peaks
  double roofline = 0;          // that to the median
};

// One call of the last run, with what it calls; milliseconds.
struct ProfileEvent {
  size_t row;
  double start_ms;
  double ms;
  size_t track = 0;  // of Profile::tracks
};

struct Profile {
  std::string platform;
  std::string module;
  int64_t devices = 1;
  bool is_timed = true;  // false: a simulated GPU's
  int64_t runs = 0;
  double run_ms = 0;  // a whole run, median; the clock is read around each operation
  Peaks peaks;
  std::vector<ProfileRow> rows;  // the longest first
  std::vector<ProfileEvent> events;
  std::vector<std::string> tracks;  // names of threads
};

// What runs. At least `min_runs` times; it ends after ten seconds all the same.
struct ProfileOptions {
  DeviceMesh mesh;
  RunOptions run;
  DeviceLimits limits;
  int64_t min_runs = 1;
  std::optional<GpuDevice> simulated;  // the GPU whose data sheet stands for a clock
};

// `arguments`: of each device. `compile`: as the executable was compiled.
absl::StatusOr<Profile> TakeProfile(Backend& backend, const Executable& executable,
                                    const std::vector<std::vector<Literal>>& arguments,
                                    const CompileOptions& compile, const ProfileOptions& options);

}  // namespace hlo
