// Measures the runs of a compiled module.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tools/run/devices.h"

namespace hlo {

struct BenchOptions {
  int64_t min_runs = 10;
  double min_seconds = 1;
  double warm_up_seconds = 0.2;  // and at least one run
  int64_t runs = 0;              // exactly so many; 0: until both minima are reached
};

// Times of runs, in milliseconds.
struct RunTimes {
  double min = 0;
  double median = 0;
  // The smallest times that 90, 95 and 99 % of the runs do not exceed.
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  // standard deviation of the sample
  int64_t iterations = 0;
  bool is_interrupted = false;  // by SIGINT, before all runs were done
};

// Statistics of a list of times that is not empty.
RunTimes Summarise(std::vector<double> milliseconds);

// Milliseconds of a steady clock.
double Now();

struct RawTimes {
  std::vector<double> milliseconds;  // of each run; at least one
  bool is_interrupted = false;
};
// Runs a prepared module, on all its devices, as often as the options say; every run starts from
// the same arguments. The first SIGINT ends it with the times so far, the second the process.
absl::StatusOr<RawTimes> BenchRaw(DeviceStates& state, const BenchOptions& options);
// The same with statistics.
absl::StatusOr<RunTimes> Bench(DeviceStates& state, const BenchOptions& options);

// Runs that are given to a device at once by BenchManyRuns.
inline constexpr int64_t kRunsAtOnce = 20;
// Milliseconds of one of kRunsAtOnce runs that wait once, the median of several times; 0 where runs
// cannot be given to a device so.
absl::StatusOr<double> BenchManyRuns(DeviceStates& state, const BenchOptions& options);

}  // namespace hlo
