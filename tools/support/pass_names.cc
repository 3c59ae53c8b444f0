#include "tools/support/pass_names.h"

#include <fmt/format.h>

#include "lib/support/strings.h"
#include "passes/registry.h"
#include "tools/support/tool_support.h"

namespace hlo {

std::vector<std::string> NamesOf(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view name : Split(list, ',')) {
    if (!Trim(name).empty()) names.emplace_back(Trim(name));
  }
  return names;
}

// Passes of XLA may be named although they do not exist here: they will not run either way.
absl::Status CheckPassName(std::string_view name) {
  return IsXlaPass(name) ? absl::OkStatus() : GetPass(name).status();
}

std::vector<std::string> KnownPassNames(std::string_view list, std::string_view program,
                                        std::string_view flag) {
  std::vector<std::string> known;
  for (std::string& name : NamesOf(list)) {
    if (CheckPassName(name).ok()) {
      known.push_back(std::move(name));
    } else {
      WriteNote(fmt::format("{}: warning: `--{}`: there is no pass `{}`\n", program, flag, name));
    }
  }
  return known;
}

}  // namespace hlo
