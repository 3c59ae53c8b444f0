#include "passes/util/entry_parameters.h"

#include <cstddef>
#include <iterator>

namespace hlo {
namespace {

// Drops what refers to parameter `number` and renumbers the rest.
template <class List>
void ForgetParameter(List& list, int64_t number) {
  std::erase_if(list, [=](const auto& item) { return item.parameter == number; });
  for (auto& item : list) item.parameter -= item.parameter > number ? 1 : 0;
}

}  // namespace

void ForgetEntryParameter(ModuleConfig& config, int number) {
  ForgetParameter(config.aliases, number);
  ForgetParameter(config.donors, number);
  ForgetParameter(config.cross_program_prefetches, number);
  std::erase_if(config.dynamic_parameters, [=](const DynamicParameterBinding& binding) {
    return binding.parameter == number || binding.size_parameter == number;
  });
  for (DynamicParameterBinding& binding : config.dynamic_parameters) {
    binding.parameter -= binding.parameter > number ? 1 : 0;
    binding.size_parameter -= binding.size_parameter > number ? 1 : 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(number);
  auto& layouts = config.entry_layout.parameters;
  if (at < std::ssize(layouts)) layouts.erase(layouts.begin() + at);
  auto& propagation = config.allow_spmd_sharding_propagation_to_parameters;
  if (propagation.size() > 1 && at < std::ssize(propagation))
    propagation.erase(propagation.begin() + at);
  auto& shardings = config.spmd_parameter_shardings;
  if (at < std::ssize(shardings)) shardings.erase(shardings.begin() + at);
}

}  // namespace hlo
