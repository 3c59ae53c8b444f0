#include "tools/support/gpu_target.h"

#include <regex>

#include "lib/support/file.h"
#include "lib/support/status.h"

namespace hlo {

absl::StatusOr<std::string> GpuTarget(const std::string& target, const std::string& config) {
  if (!target.empty() || config.empty()) return target;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(config));
  return GpuTargetOfConfig(text, config);
}

FlagValues GpuTargetValues() {
  return FlagValues::Passing("a GPU such as sm_90 or sm_90a", [](const std::string& name) {
    static const std::regex target("sm_[0-9]{2,3}[a-z]?");
    return std::regex_match(name, target);
  });
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
