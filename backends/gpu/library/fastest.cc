#include "backends/gpu/library/fastest.h"

#include <algorithm>

namespace hlo::gpu {
namespace {

constexpr double kWorthIt = 0.967;  // of the time of way 0

}  // namespace

size_t FastestOf(Stream& stream, size_t count, int runs,
                 absl::FunctionRef<absl::Status(size_t i)> run) {
  size_t best = 0;
  double best_time = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto enqueue = [&] { return run(i); };
    absl::StatusOr<int64_t> least = stream.Time(enqueue);
    for (int n = 0; n < runs && least.ok(); ++n) {
      const absl::StatusOr<int64_t> time = stream.Time(enqueue);
      least = !time.ok() || n == 0 ? time : std::min(*least, *time);
    }
    if (!least.ok()) continue;
    const double time = static_cast<double>(*least) / (i == 0 ? 1 : kWorthIt);
    if (best_time == 0 || time < best_time) {
      best = i;
      best_time = time;
    }
  }
  return best;
}

absl::Status FillWithNumbers(Stream& stream, DevicePtr memory, int64_t bytes) {
  constexpr uint8_t kPattern = 0x3c;
  return stream.Fill(memory, kPattern, bytes);
}

}  // namespace hlo::gpu
