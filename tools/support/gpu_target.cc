#include "tools/support/gpu_target.h"

#include <fmt/core.h>

#include <regex>

#include "lib/support/file.h"
#include "lib/support/status.h"

namespace hlo {

namespace {

// The GPUs of XLA's target configurations, by their names.
struct GpuName {
  std::string_view name, target, what;
};
constexpr GpuName kGpuNames[] = {
    {"p100", "sm_60", "Tesla P100"},
    {"v100", "sm_70", "Tesla V100"},
    {"a100_pcie_80", "sm_80", "A100 PCIe, 80 GB"},
    {"a100_sxm_40", "sm_80", "A100 SXM4, 40 GB"},
    {"a100_sxm_80", "sm_80", "A100 SXM4, 80 GB"},
    {"a100", "sm_80", "A100"},
    {"a6000", "sm_86", "RTX A6000"},
    {"l4", "sm_89", "L4"},
    {"l40s", "sm_89", "L40S"},
    {"h100_pcie", "sm_90a", "H100 PCIe"},
    {"h100_sxm", "sm_90a", "H100 SXM5"},
    {"h100", "sm_90a", "H100"},
    {"h200", "sm_90a", "H200"},
    {"b200", "sm_100", "B200"},
    {"b300", "sm_103", "B300"},
    {"gb200", "sm_100", "GB200"},
    {"gb300", "sm_103", "GB300"},
    {"rtx6000pro", "sm_120", "RTX PRO 6000 Blackwell"},
};

// What LLVM 19 writes code for. Drivers compile its PTX for newer GPUs, but for what is of one GPU
// alone (sm_90a).
constexpr std::string_view kNewest = "sm_90";

std::string Known(std::string target) {
  const bool is_newer = target.size() > 5 && target.starts_with("sm_1");
  return is_newer ? std::string(kNewest) : target;
}

}  // namespace

absl::StatusOr<std::string> GpuTarget(const std::string& target, const std::string& config) {
  for (const GpuName& gpu : kGpuNames) {
    if (gpu.name == target) return Known(std::string(gpu.target));
  }
  if (target == "native") return std::string();
  if (!target.empty() || config.empty()) return Known(target);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(config));
  ASSIGN_OR_RETURN(const std::string found, GpuTargetOfConfig(text, config));
  return Known(found);
}

FlagValues GpuTargetValues() {
  return FlagValues::Passing("a GPU such as sm_90, sm_90a or h100_sxm (--list-targets)",
                             [](const std::string& name) {
                               static const std::regex target("sm_[0-9]{2,3}[a-z]?|native");
                               for (const GpuName& gpu : kGpuNames) {
                                 if (gpu.name == name) return true;
                               }
                               return std::regex_match(name, target);
                             });
}

std::string GpuTargetList() {
  std::string text;
  for (const GpuName& gpu : kGpuNames) {
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

}  // namespace hlo
