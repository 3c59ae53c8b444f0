// Entries of `input_output_alias`, for the passes that make them.
#pragma once

#include <algorithm>

#include "lib/ir/module_config.h"

namespace hlo {

// Lets `output` share the buffer of a parameter, which is no longer one to give away besides.
inline void AddEntryAlias(ModuleConfig& config, const ShapeIndex& output, int64_t parameter,
                          const ShapeIndex& parameter_index) {
  config.aliases.push_back({output, parameter, parameter_index, /*must_alias=*/false});
  std::erase(config.donors, BufferDonor{parameter, parameter_index});
}

// Brings the entries into the order of the results.
inline void SortEntryAliases(ModuleConfig& config) {
  absl::c_stable_sort(config.aliases, [](const InputOutputAlias& a, const InputOutputAlias& b) {
    return std::lexicographical_compare(a.output.begin(), a.output.end(), b.output.begin(),
                                        b.output.end());
  });
}

}  // namespace hlo
