// What the performance model of GPU kernels (performance_model.h) knows of a device: figures of
// data sheets, by the names that `--list-targets` of the tools gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

struct GpuDevice {
  std::string_view name;
  int64_t multiprocessors;
  double clock_ghz;
  int64_t lanes;            // of a multiprocessor, that multiply and add floats
  int64_t threads;          // that a multiprocessor holds at a time
  double bytes_per_second;  // to and from memory
  int64_t l2_bytes;
};

// The error names those that are known.
absl::StatusOr<GpuDevice> FindGpuDevice(const std::string& name);

}  // namespace hlo
