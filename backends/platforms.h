// What is known of a platform without its code: the rows of backends.def, those of platforms that
// are not built included. Header only, so that back ends and hlo-opt link nothing of the registry.
#pragma once

#include <span>
#include <string_view>

#include "lib/support/denormals.h"

namespace hlo {

struct PlatformInfo {
  std::string_view name;
  std::string_view aliases;   // separated by commas
  std::string_view pipeline;  // a named one (passes/pipelines.h), or empty
  Denormals denormals;        // unless told
  std::string_view stages;    // words of --emit, separated by commas
  std::string_view summary;
};

// Whether `word` is one of the words of `list`, which have commas between them.
constexpr bool IsListed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

inline constexpr PlatformInfo kPlatforms[] = {
#define HLO_ALL_BACKENDS
#define HLO_BACKEND(name, maker, aliases, pipeline, denormals, stages, summary) \
  {name, aliases, pipeline, Denormals::denormals, stages, summary},
#include "backends/backends.def"
#undef HLO_ALL_BACKENDS
};

// The row of this name or alias, or null.
constexpr const PlatformInfo* FindPlatform(std::string_view name) {
  for (const PlatformInfo& info : kPlatforms) {
    if (!name.empty() && (info.name == name || IsListed(info.aliases, name))) return &info;
  }
  return nullptr;
}

// What becomes of denormal numbers there unless told.
constexpr Denormals DefaultDenormals(std::string_view platform) {
  const PlatformInfo* const info = FindPlatform(platform);
  return info == nullptr ? Denormals::kKeep : info->denormals;
}

}  // namespace hlo
