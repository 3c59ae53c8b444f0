// The GPU that is compiled for, as flags name it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/support/flag_values.h"

namespace hlo {

// What --target and --xla_gpu_target_config_filename ask for: `target` (sm_90a, h100_sxm, native),
// else that of the file `config`, else "", which is the GPU of the machine. GPUs newer than the
// compiler knows get code of the newest one that it knows.
absl::StatusOr<std::string> GpuTarget(const std::string& target, const std::string& config);

// What passes want to know of that GPU; empty where the flags do not say it.
struct GpuProperties {
  std::string compute_capability;  // 9.0
  std::string device;              // a name of gpu_device.h
  int multiprocessors = 0;         // 0: the flags do not say it
};
absl::StatusOr<GpuProperties> GpuPropertiesOf(const std::string& target, const std::string& config);

// The names with what they stand for, one a line (--list-targets).
std::string GpuTargetList();

// What --target takes: the names of GPUs; those that the compiler knows are said when it compiles.
FlagValues GpuTargetValues();

// The target that a description of a GPU, a GpuTargetConfigProto of XLA in its text form, is about:
// `cuda_compute_capability { major: 9 minor: 0 }` is sm_90. `name` is for messages.
absl::StatusOr<std::string> GpuTargetOfConfig(std::string_view text, std::string_view name);

// How many multiprocessors such a description says that the GPU has: `core_count: 132`; else 0.
int MultiprocessorsOfConfig(std::string_view text);

// The GPU of gpu_device.h that is of this target and has as many multiprocessors as the description
// says, of several the one whose memory is about as fast; "" where there is none.
std::string GpuDeviceOfConfig(std::string_view text, std::string_view target);

}  // namespace hlo
