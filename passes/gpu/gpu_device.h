// The GPUs that are known by name: what their code is compiled for, and what the performance model
// of kernels (performance_model.h) knows of them, figures of data sheets. `--list-targets` of the
// tools lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

struct GpuDevice {
  std::string_view name;
  std::string_view target;  // sm_90a
  std::string_view what;    // as NVIDIA calls it
  int64_t multiprocessors;
  double clock_ghz;
  int64_t lanes;            // of a multiprocessor, that multiply and add floats
  int64_t threads;          // that a multiprocessor holds at a time
  double bytes_per_second;  // to and from memory
  int64_t l2_bytes;
};

// By generation.
std::span<const GpuDevice> AllGpuDevices();
// The error names those that are known.
absl::StatusOr<GpuDevice> FindGpuDevice(const std::string& name);
inline absl::Status CheckGpuDevice(const std::string& name) { return FindGpuDevice(name).status(); }

// What passes call a `compute_capability`: 9.0 of sm_90a, 10.3 of sm_103.
std::string ComputeCapabilityOf(std::string_view target);

}  // namespace hlo
