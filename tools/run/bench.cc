#include "tools/run/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "lib/support/status.h"

namespace hlo {

RunTimes Summarise(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t n = milliseconds.size();
  RunTimes times;
  times.iterations = static_cast<int64_t>(n);
  times.min = milliseconds.front();
  times.median =
      n % 2 == 1 ? milliseconds[n / 2] : (milliseconds[n / 2 - 1] + milliseconds[n / 2]) / 2;
  // The smallest time that 90 % of the runs do not exceed.
  times.p90 = milliseconds[static_cast<size_t>(std::ceil(0.9 * static_cast<double>(n))) - 1];
  times.mean =
      std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(n);
  return times;
}

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<RunTimes> Bench(ExecutionState& state, const BenchOptions& options) {
  const double start = Now();
  do {
    RETURN_IF_ERROR(state.Run());
  } while (Now() - start < options.warm_up_seconds * 1000);
  std::vector<double> times;
  const double begin = Now();
  double now = begin;
  while (static_cast<int64_t>(times.size()) < options.min_runs ||
         now - begin < options.min_seconds * 1000) {
    RETURN_IF_ERROR(state.Renew());  // donated arguments are put back off the clock
    const double before = Now();
    RETURN_IF_ERROR(state.Run());
    now = Now();
    times.push_back(now - before);
  }
  return Summarise(std::move(times));
}

}  // namespace hlo
