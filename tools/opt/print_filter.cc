#include "tools/opt/print_filter.h"

#include <fmt/format.h>

#include <string_view>

namespace hlo {
namespace {

// std::regex recurses with the length of what it looks at.
constexpr size_t kMostMatched = 4096;

bool Takes(const std::optional<std::regex>& wanted, std::string_view name) {
  name = name.substr(0, kMostMatched);
  return !wanted || std::regex_search(name.begin(), name.end(), *wanted);
}

}  // namespace

bool PrintFilter::TakesModule(const Module& module) const { return Takes(modules, module.name()); }

std::string PrintFilter::TextOf(const Module& module, const PrintOptions& options) const {
  if (!TakesModule(module)) return "";
  if (!computations && !ops) return ToText(module, options);
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    if (!Takes(computations, computation->name())) continue;
    if (!ops) {
      text += ToText(*computation, options) + "\n";
      continue;
    }
    std::string lines;
    for (const Instruction* instruction : computation->instructions()) {
      if (Takes(ops, instruction->name()) || Takes(ops, Text(instruction->opcode())))
        lines += fmt::format("  {}\n", ToText(*instruction, options));
    }
    if (!lines.empty()) text += fmt::format("%{} {{\n{}}}\n", computation->name(), lines);
  }
  return text;
}

}  // namespace hlo
