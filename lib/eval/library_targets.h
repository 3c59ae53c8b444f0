// Names of the custom calls that XLA makes of NVIDIA's libraries, from library_targets.def.
#pragma once

#include <string_view>

namespace hlo {

#define HLO_LIBRARY_TARGET(Name, text, ...) inline constexpr std::string_view k##Name = text;
#include "lib/eval/library_targets.def"

inline constexpr std::string_view kLibraryTargets[] = {
#define HLO_LIBRARY_TARGET(Name, ...) k##Name,
#include "lib/eval/library_targets.def"
};

}  // namespace hlo
