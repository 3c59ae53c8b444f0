#include "passes/gpu/gpu_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "lib/support/status.h"

namespace hlo {
namespace {

constexpr int64_t kMiB = 1024 * 1024;

// Clocks are boost clocks.
constexpr GpuDevice kDevices[] = {
    {"a100_pcie_80", 108, 1.41, 64, 2048, 1935e9, 40 * kMiB},
    {"a100_sxm_40", 108, 1.41, 64, 2048, 1555e9, 40 * kMiB},
    {"a100_sxm_80", 108, 1.41, 64, 2048, 2039e9, 40 * kMiB},
    {"a6000", 84, 1.80, 128, 1536, 768e9, 6 * kMiB},
    {"b200", 148, 1.965, 128, 2048, 8000e9, 126 * kMiB},
    {"h100_pcie", 114, 1.755, 128, 2048, 2039e9, 50 * kMiB},
    {"h100_sxm", 132, 1.98, 128, 2048, 3352e9, 50 * kMiB},
    {"h200", 132, 1.98, 128, 2048, 4890e9, 50 * kMiB},
    {"l4", 58, 2.04, 128, 1536, 300e9, 48 * kMiB},
    {"l40s", 142, 2.52, 128, 1536, 864e9, 96 * kMiB},
    {"p100", 56, 1.48, 64, 2048, 732e9, 4 * kMiB},
    {"v100", 80, 1.53, 64, 2048, 898e9, 6 * kMiB},
};

}  // namespace

absl::StatusOr<GpuDevice> FindGpuDevice(const std::string& name) {
  const auto* const row =
      std::find_if(std::begin(kDevices), std::end(kDevices),
                   [&](const GpuDevice& device) { return device.name == name; });
  if (row != std::end(kDevices)) return *row;
  std::string names;
  for (const GpuDevice& device : kDevices)
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", device.name);
  return Error("there are no figures of a GPU `{}`; only of {}", name, names);
}

}  // namespace hlo
