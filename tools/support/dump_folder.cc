#include "tools/support/dump_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr std::string_view kBefore = ".before_optimization";
// Best first; `.gz` and the like may follow.
constexpr std::string_view kForms[] = {".txt", ".hlo", ".hlo.pb", ".pb", ".pbtxt"};

// The place of the file's form in kForms; none when the name is not that of a dump before passes.
std::optional<size_t> FormOfDump(std::string_view name) {
  const size_t at = name.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = name.substr(at + kBefore.size());
  if (rest.starts_with('s')) rest.remove_prefix(1);
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (rest == kForms[i] || rest.starts_with(std::string(kForms[i]) + ".")) return i;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> ModuleOfDump(const std::string& folder) {
  std::error_code error;
  std::map<std::string, std::map<size_t, std::string>> modules;  // name -> form -> path
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (const std::optional<size_t> form = FormOfDump(name))
      modules[name.substr(0, name.find(kBefore))].emplace(*form, entry.path());
  }
  if (error) return Error("cannot read folder `{}`: {}", folder, error.message());
  if (modules.size() == 1) return modules.begin()->second.begin()->second;
  if (modules.empty())
    return Error("cannot read `{}`: it is a folder without a file `*{}s.txt`", folder, kBefore);
  constexpr size_t kMost = 4;
  std::vector<std::string_view> names;
  for (const auto& [name, files] : modules) {
    if (names.size() < kMost) names.push_back(name);
  }
  return Error("`{}` holds {} modules, {}{}: name the file of one", folder, modules.size(),
               Join(names, ", "), modules.size() > kMost ? ", …" : "");
}

}  // namespace hlo
