// The names of the rules (rewrite.h) of all passes that were made so far, for flags
// that name rules.
#pragma once

#include <string_view>
#include <vector>

namespace hlo {

void NoteRuleName(std::string_view name);  // must live for ever
// Sorted.
std::vector<std::string_view> NotedRuleNames();

}  // namespace hlo
