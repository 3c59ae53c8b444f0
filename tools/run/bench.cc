#include "tools/run/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>

#include "lib/support/status.h"

namespace hlo {

namespace {

volatile std::sig_atomic_t interrupts = 0;

// Counts SIGINT while it lives; a second one acts as before.
class InterruptCount final {
 public:
  InterruptCount() {
    interrupts = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupts = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptCount() { sigaction(SIGINT, &before_, nullptr); }
  InterruptCount(const InterruptCount&) = delete;
  InterruptCount& operator=(const InterruptCount&) = delete;
  static bool any() { return interrupts != 0; }

 private:
  struct sigaction before_ = {};
};

}  // namespace

RunTimes Summarise(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t n = milliseconds.size();
  const auto count = static_cast<double>(n);
  const auto percentile = [&](double share) {
    return milliseconds[static_cast<size_t>(std::ceil(share * count)) - 1];
  };
  RunTimes times;
  times.iterations = static_cast<int64_t>(n);
  times.min = milliseconds.front();
  times.median =
      n % 2 == 1 ? milliseconds[n / 2] : (milliseconds[n / 2 - 1] + milliseconds[n / 2]) / 2;
  times.p90 = percentile(0.9);
  times.p95 = percentile(0.95);
  times.p99 = percentile(0.99);
  times.max = milliseconds.back();
  times.mean = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / count;
  double squares = 0;
  for (const double time : milliseconds) squares += (time - times.mean) * (time - times.mean);
  times.deviation = n > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return times;
}

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<RawTimes> BenchRaw(DeviceStates& state, const BenchOptions& options) {
  const InterruptCount interrupted;
  const double start = Now();
  do {
    RETURN_IF_ERROR(state.Run());
  } while (Now() - start < options.warm_up_seconds * 1000 && !InterruptCount::any());
  RawTimes result;
  std::vector<double>& times = result.milliseconds;
  const double begin = Now();
  double now = begin;
  const auto goes_on = [&] {
    const auto runs = static_cast<int64_t>(times.size());
    if (options.runs > 0) return runs < options.runs;
    return runs < options.min_runs || now - begin < options.min_seconds * 1000;
  };
  while (times.empty() || (goes_on() && !InterruptCount::any())) {
    RETURN_IF_ERROR(state.Renew());  // donated arguments are put back off the clock
    const double before = Now();
    RETURN_IF_ERROR(state.Run());
    now = Now();
    times.push_back(now - before);
  }
  result.is_interrupted = goes_on();
  return result;
}

absl::StatusOr<RunTimes> Bench(DeviceStates& state, const BenchOptions& options) {
  ASSIGN_OR_RETURN(RawTimes raw, BenchRaw(state, options));
  RunTimes times = Summarise(std::move(raw.milliseconds));
  times.is_interrupted = raw.is_interrupted;
  return times;
}

absl::StatusOr<double> BenchManyRuns(DeviceStates& state, const BenchOptions& options) {
  std::vector<double> times;
  const double begin = Now();
  constexpr size_t kFewest = 3;
  const InterruptCount interrupted;
  while ((times.size() < kFewest || Now() - begin < options.min_seconds * 1000) &&
         (times.empty() || !InterruptCount::any())) {
    const double before = Now();
    ASSIGN_OR_RETURN(const bool ran, state.RunMany(kRunsAtOnce));
    if (!ran) return 0.0;
    times.push_back((Now() - before) / kRunsAtOnce);
  }
  return Summarise(std::move(times)).median;
}

}  // namespace hlo
