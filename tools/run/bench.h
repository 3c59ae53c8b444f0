// Measures the runs of a compiled module.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"

namespace hlo {

struct BenchOptions {
  int64_t min_runs = 10;
  double min_seconds = 1;
  double warm_up_seconds = 0.2;  // and at least one run
};

// Times of runs, in milliseconds.
struct RunTimes {
  double min = 0;
  double median = 0;
  double p90 = 0;
  double mean = 0;
  int64_t iterations = 0;
};

// Statistics of a list of times that is not empty.
RunTimes Summarise(std::vector<double> milliseconds);

// Milliseconds of a steady clock.
double Now();

// Runs a prepared module until both minima are reached; every run starts from the same arguments.
absl::StatusOr<RunTimes> Bench(ExecutionState& state, const BenchOptions& options);

}  // namespace hlo
