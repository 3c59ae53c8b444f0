#include "lib/analysis/entry_aliases.h"

#include "lib/analysis/leaves.h"

namespace hlo {

std::vector<EntryAlias> EntryAliases(const Module& module) {
  const Computation& entry = *module.entry();
  std::vector<EntryAlias> found;
  for (const InputOutputAlias& alias : module.config().aliases) {
    const Instruction* const parameter = entry.parameter(static_cast<int>(alias.parameter));
    const int64_t from = LeafNumber(parameter->shape(), alias.parameter_index);
    const int64_t to = LeafNumber(entry.root()->shape(), alias.output);
    if (from < 0 || to < 0) continue;
    found.push_back(
        {parameter, static_cast<size_t>(from), static_cast<size_t>(to), alias.must_alias});
  }
  return found;
}

}  // namespace hlo
