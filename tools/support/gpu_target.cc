#include "tools/support/gpu_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "passes/gpu/gpu_device.h"

namespace hlo {

namespace {

// What LLVM 19 writes code for. Drivers compile its PTX for newer GPUs, but for what is of one GPU
// alone (sm_90a).
constexpr std::string_view kNewest = "sm_90";

std::string Known(std::string target) {
  const bool is_newer = target.size() > 5 && target.starts_with("sm_1");
  return is_newer ? std::string(kNewest) : target;
}

// Both flags together, before the compiler's own limits.
struct NamedGpu {
  std::string target;
  std::string device;
  int multiprocessors = 0;
};
absl::StatusOr<NamedGpu> GpuOfFlags(const std::string& target, const std::string& config) {
  for (const GpuDevice& gpu : AllGpuDevices()) {
    if (gpu.name == target) {
      return NamedGpu{std::string(gpu.target), target, static_cast<int>(gpu.multiprocessors)};
    }
  }
  if (target == "native") return NamedGpu();
  if (!target.empty() || config.empty()) return NamedGpu{target, "", 0};
  ASSIGN_OR_RETURN(const std::string text, ReadFile(config));
  ASSIGN_OR_RETURN(std::string found, GpuTargetOfConfig(text, config));
  std::string device = GpuDeviceOfConfig(text, found);
  return NamedGpu{std::move(found), std::move(device), MultiprocessorsOfConfig(text)};
}

// The number of `name: 132`, or 0.
double NumberOf(std::string_view text, const std::string& name) {
  const std::regex field("\\b" + name + R"(\s*:\s*(\d+))");
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(text.begin(), text.end(), found, field)) return 0;
  return std::strtod(found[1].str().c_str(), nullptr);
}

}  // namespace

absl::StatusOr<std::string> GpuTarget(const std::string& target, const std::string& config) {
  ASSIGN_OR_RETURN(const NamedGpu gpu, GpuOfFlags(target, config));
  return Known(gpu.target);
}

absl::StatusOr<GpuProperties> GpuPropertiesOf(const std::string& target,
                                              const std::string& config) {
  ASSIGN_OR_RETURN(const NamedGpu gpu, GpuOfFlags(target, config));
  return GpuProperties{ComputeCapabilityOf(gpu.target), gpu.device, gpu.multiprocessors};
}

FlagValues GpuTargetValues() {
  return FlagValues::Passing("a GPU such as sm_90, sm_90a or h100_sxm (--list-targets)",
                             [](const std::string& name) {
                               static const std::regex target("sm_[0-9]{2,3}[a-z]?|native");
                               for (const GpuDevice& gpu : AllGpuDevices()) {
                                 if (gpu.name == name) return true;
                               }
                               return std::regex_match(name, target);
                             });
}

std::string GpuTargetList() {
  std::string text;
  for (const GpuDevice& gpu : AllGpuDevices()) {
    const std::string known = Known(std::string(gpu.target));
    text += fmt::format("{:<14}{:<8}{}{}\n", gpu.name, gpu.target, gpu.what,
                        known == gpu.target ? "" : fmt::format("; PTX of {}", known));
  }
  return text;
}

absl::StatusOr<std::string> GpuTargetOfConfig(std::string_view text, std::string_view name) {
  static const std::regex capability(R"(cuda_compute_capability\s*:?\s*\{([^{}]*)\})");
  static const std::regex field(R"((major|minor)\s*:\s*(\d{1,2})\b)");
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(text.begin(), text.end(), found, capability)) {
    return Error(
        "{}: expected `cuda_compute_capability {{ major: 9 minor: 0 }}`, which says which "
        "NVIDIA GPU this is",
        name);
  }
  const std::string fields = found[1];
  std::string major, minor = "0";
  for (std::sregex_iterator at(fields.begin(), fields.end(), field), end; at != end; ++at)
    ((*at)[1] == "major" ? major : minor) = (*at)[2];
  if (major.empty()) return Error("{}: `cuda_compute_capability` has no `major: N`", name);
  return "sm_" + major + minor;
}

int MultiprocessorsOfConfig(std::string_view text) {
  constexpr double kMost = 1 << 16;  // more is no number of any GPU
  return static_cast<int>(std::min(NumberOf(text, "core_count"), kMost));
}

std::string GpuDeviceOfConfig(std::string_view text, std::string_view target) {
  const double cores = NumberOf(text, "core_count");
  const double bytes = NumberOf(text, "memory_bandwidth");
  const GpuDevice* best = nullptr;
  for (const GpuDevice& gpu : AllGpuDevices()) {
    if (ComputeCapabilityOf(gpu.target) != ComputeCapabilityOf(target)) continue;
    if (static_cast<double>(gpu.multiprocessors) != cores) continue;
    const auto distance = [&](const GpuDevice& device) {
      return std::abs(device.bytes_per_second - bytes);
    };
    if (best == nullptr || distance(gpu) < distance(*best)) best = &gpu;
  }
  return best == nullptr ? "" : std::string(best->name);
}

}  // namespace hlo
