// What this machine reaches on a platform, measured: the roof over its operations.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "passes/gpu/gpu_device.h"

namespace hlo {

// In a second.
struct Peaks {
  double flops = 0;  // of a product of f32 matrices: 2 for each term
  // Of products of narrower operands, for which a processor may have units of their own.
  std::vector<std::pair<ElementType, double>> narrow;
  double bytes = 0;  // read and written by a loop over an array that no cache holds
  // The same of smaller arrays: bytes of a call, and in a second; the largest last.
  std::vector<std::pair<double, double>> caches;

  // The most bytes in a second where a call touches so many: what fits in a cache is faster.
  double BytesAt(double work_bytes) const;
  // The least time that so much work takes, in milliseconds; if given, of a product of such
  // operands.
  double LeastMs(double work_flops, double work_bytes, std::optional<ElementType> operands) const;
};

// The type of both operands where a dot multiplies ones of 8 or 16 bits.
std::optional<ElementType> NarrowOperands(const Instruction& instruction);

// Of the dots of a module.
std::set<ElementType> NarrowProducts(const Module& module);

// Compiles and runs small modules on the platform, larger and larger ones until one takes long
// enough to be measured; less than a second. Products are of f32, and of the narrow operands.
absl::StatusOr<Peaks> MeasurePeaks(Backend& backend, const CompileOptions& options,
                                   const std::set<ElementType>& narrow);
// What the data sheet of a GPU says, its tensor cores aside.
Peaks PeaksOf(const GpuDevice& device);
// "peaks of cpu: 95.1 GFLOP/s (product of f32 matrices), 12.2 GB/s (memory), 40 GB/s (caches)\n",
// those of narrow operands after the first: "410 GFLOP/s (of bf16)".
std::string ToString(const Peaks& peaks, std::string_view platform);

}  // namespace hlo
