#include "passes/gpu/gpu_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "lib/support/status.h"

namespace hlo {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

// Clocks are boost clocks. Names without a form (`a100`) are those of what servers have; MIG is a
// part of a device, as driver and XLA see it.
constexpr GpuDevice kDevices[] = {
    {"p100", "sm_60", "Tesla P100", 56, 1.48, 64, 2048, 732e9, 4 * kMiB},
    {"v100", "sm_70", "Tesla V100", 80, 1.53, 64, 2048, 898e9, 6 * kMiB},
    {"a100_pcie_80", "sm_80", "A100 PCIe, 80 GB", 108, 1.41, 64, 2048, 1935e9, 40 * kMiB},
    {"a100_sxm_40", "sm_80", "A100 SXM4, 40 GB", 108, 1.41, 64, 2048, 1555e9, 40 * kMiB},
    {"a100_sxm_80", "sm_80", "A100 SXM4, 80 GB", 108, 1.41, 64, 2048, 2039e9, 40 * kMiB},
    {"a100", "sm_80", "A100", 108, 1.41, 64, 2048, 2039e9, 40 * kMiB},
    {"a6000", "sm_86", "RTX A6000", 84, 1.80, 128, 1536, 768e9, 6 * kMiB},
    {"l4", "sm_89", "L4", 58, 2.04, 128, 1536, 300e9, 48 * kMiB},
    {"l40s", "sm_89", "L40S", 142, 2.52, 128, 1536, 864e9, 96 * kMiB},
    {"h100_pcie", "sm_90a", "H100 PCIe", 114, 1.755, 128, 2048, 2039e9, 50 * kMiB},
    {"h100_sxm", "sm_90a", "H100 SXM5", 132, 1.98, 128, 2048, 3352e9, 50 * kMiB},
    {"h100_sxm_mig", "sm_90a", "H100 SXM5, MIG 1g.10gb", 16, 1.98, 128, 2048, 419e9, 6400 * kKiB},
    {"h100", "sm_90a", "H100", 132, 1.98, 128, 2048, 3352e9, 50 * kMiB},
    {"h200", "sm_90a", "H200", 132, 1.98, 128, 2048, 4890e9, 50 * kMiB},
    {"b200", "sm_100", "B200", 148, 1.965, 128, 2048, 8000e9, 126 * kMiB},
    {"b200_mig", "sm_100", "B200, MIG 1g.23gb", 18, 1.965, 128, 2048, 917e9, 15488 * kKiB},
    {"b300", "sm_103", "B300", 158, 1.965, 128, 2048, 7936e9, 129 * kMiB},
    {"gb200", "sm_100", "GB200", 152, 2.062, 128, 2048, 7928e9, 129 * kMiB},
    {"gb300", "sm_103", "GB300", 152, 2.07, 128, 2048, 7928e9, 129 * kMiB},
    {"rtx6000pro", "sm_120", "RTX PRO 6000 Blackwell", 188, 2.6, 128, 1536, 1792e9, 128 * kMiB},
};

}  // namespace

std::span<const GpuDevice> AllGpuDevices() { return kDevices; }

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

std::string ComputeCapabilityOf(std::string_view target) {
  const size_t begin = std::min(target.find_first_of("0123456789"), target.size());
  const size_t end = std::min(target.find_first_not_of("0123456789", begin), target.size());
  if (end - begin < 2) return "";
  return fmt::format("{}.{}", target.substr(begin, end - 1 - begin), target[end - 1]);
}

}  // namespace hlo
