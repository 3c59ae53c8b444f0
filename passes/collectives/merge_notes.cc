#include "passes/collectives/merge_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace hlo {
namespace {

// Up to the last slash that all names have in common.
size_t CommonPlaces(const std::vector<std::string>& names) {
  size_t same = names[0].size();
  for (const std::string& name : names) {
    const size_t limit = std::min(same, name.size());
    same = 0;
    while (same < limit && name[same] == names[0][same]) ++same;
  }
  const size_t slash = std::string_view(names[0]).substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

std::string MergedNames(const std::vector<std::string>& names) {
  if (absl::c_all_of(names, [&](const std::string& name) { return name == names[0]; }))
    return names[0];
  const size_t common = CommonPlaces(names);
  std::vector<std::string_view> rest;
  for (const std::string& name : names) rest.push_back(std::string_view(name).substr(common));
  return fmt::format("{}({})", names[0].substr(0, common), fmt::join(rest, ":"));
}

}  // namespace

OpMetadata MergedMetadata(const std::vector<Instruction*>& instructions) {
  OpMetadata merged = instructions[0]->metadata();
  std::vector<std::string> names, places;
  for (const Instruction* instruction : instructions) {
    const OpMetadata& metadata = instruction->metadata();
    const std::string_view name = metadata.op_name, file = metadata.source_file;
    if (!name.empty()) names.emplace_back(name);
    if (!file.empty()) places.push_back(fmt::format("{}:{}", file, metadata.source_line));
  }
  if (!names.empty()) merged.op_name = MergedNames(names);
  if (!places.empty()) {
    merged.source_file = fmt::format("{}", fmt::join(places, ","));
    merged.source_line = merged.source_end_line = 0;
  }
  return merged;
}

FrontendAttributes MergedFrontendAttributes(const std::vector<Instruction*>& instructions) {
  std::map<std::string, std::set<std::string>> values;
  for (const Instruction* instruction : instructions) {
    if (instruction->extras() == nullptr) continue;
    for (const auto& [key, value] : instruction->extras()->frontend_attributes)
      values[key].insert(value);
  }
  FrontendAttributes merged;
  for (const auto& [key, of_key] : values)
    merged.insert_or_assign(key, fmt::format("{}", fmt::join(of_key, ",")));
  return merged;
}

}  // namespace hlo
