// What this machine reaches on a platform, measured: the roof over its operations.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"

namespace hlo {

// In a second.
struct Peaks {
  double flops = 0;  // of a product of f32 matrices: 2 for each term
  double bytes = 0;  // read and written by a loop over an array that no cache holds
  // The same of smaller arrays: bytes of a call, and in a second; the largest last.
  std::vector<std::pair<double, double>> caches;

  // The most bytes in a second where a call touches so many: what fits in a cache is faster.
  double BytesAt(double work_bytes) const;
  // The least time that so much work takes, in milliseconds.
  double LeastMs(double work_flops, double work_bytes) const;
};

// Compiles and runs small modules on the platform, larger and larger ones until one takes long
// enough to be measured; less than a second.
absl::StatusOr<Peaks> MeasurePeaks(Backend& backend, const CompileOptions& options);
// "peaks of cpu: 95.1 GFLOP/s (product of f32 matrices), 12.2 GB/s (memory), 40 GB/s (caches)\n"
std::string ToString(const Peaks& peaks, std::string_view platform);

}  // namespace hlo
