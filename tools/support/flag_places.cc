// Where flags come from besides the command line; the order of precedence stands in flags.h.
#include <algorithm>
#include <cstdlib>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/flags.h"
#include "tools/support/xla_flags.h"

namespace hlo {

std::string_view Flags::Place(std::string name) { return places_.emplace_back(std::move(name)); }

// What is meant for XLA must not stop this tool.
absl::Status Flags::AddFlagsOfXla(const std::vector<std::string>& texts, std::string_view from,
                                  std::vector<Word>& out) {
  for (const std::string& text : texts) {
    const std::string name = WithDashes(text);
    if (!name.starts_with("--xla-") && !name.starts_with("-xla-")) {
      warnings_.push_back(fmt::format("`{}` of {} is not a flag of XLA", text, from));
      continue;
    }
    // A flag that takes its value from the next word would take it from another place.
    const Flag* flag = Find(name.substr(name.find_first_not_of('-')));
    out.push_back({flag != nullptr && flag->needs_value() ? text + "=" : text, from});
  }
  return absl::OkStatus();
}

absl::Status Flags::AddOwnFlags(std::string_view text, std::string_view from, bool is_for_all_tools,
                                std::vector<Word>& out) {
  for (std::string& word : WordsOf(text)) {
    const size_t dashes = word.starts_with("--") ? 2 : 1;
    if (word[0] != '-' || word.size() <= dashes)
      return Error("{} holds `{}`, which is no flag; write --name=value", from, word);
    const size_t end = std::min(word.find('='), word.size());
    const std::string name = WithDashes(word.substr(dashes, end - dashes));
    const Named named = FindNamed(name, dashes == 1);
    if (named.flag == nullptr && is_for_all_tools && !name.starts_with("xla-")) {
      warnings_.push_back(
          fmt::format("`{}` of {} is not a flag of {}", word.substr(0, end), from, program_));
      continue;
    }
    if (named.flag != nullptr && named.flag->needs_value() && named.value.empty() &&
        end == word.size())
      return Error("`{}` of {} needs a value: --{}={}", word, from, named.flag->name,
                   named.flag->placeholder);
    out.push_back({std::move(word), from});
  }
  return absl::OkStatus();
}

namespace {

// Takes every `--name=FILE` and `--name FILE` out of the words.
template <class Words>
std::vector<std::string> TakeFiles(Words& words, std::string_view name) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < words.size() && words[i].text != "--";) {
    const std::string& word = words[i].text;
    const size_t at = word.find_first_not_of('-');
    const size_t end = std::min(word.find('='), word.size());
    const bool is_apart = end == word.size();
    if (at == 0 || at > end || WithDashes(word.substr(at, end - at)) != name ||
        (is_apart && i + 1 == words.size())) {
      ++i;
      continue;
    }
    paths.push_back(is_apart ? words[i + 1].text : word.substr(end + 1));
    const auto first = words.begin() + static_cast<int64_t>(i);
    words.erase(first, first + (is_apart ? 2 : 1));
  }
  return paths;
}

}  // namespace

absl::Status Flags::AddOuterWords(std::vector<Word>& words) {
  std::vector<Word> outer;
  for (const std::string& path : TakeFiles(words, "debug-options-file")) {
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, XlaFlagsOfFile(path));
    RETURN_IF_ERROR(AddFlagsOfXla(texts, Place(path), outer));
  }
  const bool has_own_config = Find("config") != nullptr;
  for (const std::string& path :
       has_own_config ? std::vector<std::string>() : TakeFiles(words, "config")) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    int number = 0;
    for (const std::string_view line : Split(text, '\n')) {
      ++number;
      if (Trim(line).starts_with('#')) continue;
      RETURN_IF_ERROR(AddOwnFlags(line, Place(fmt::format("{}:{}", path, number)),
                                  /*is_for_all_tools=*/false, outer));
    }
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> of_xla, XlaFlagsOfEnvironment());
  RETURN_IF_ERROR(AddFlagsOfXla(of_xla, Place("XLA_FLAGS"), outer));
  if (const char* const own = std::getenv("HLO_FLAGS"); own != nullptr)
    RETURN_IF_ERROR(AddOwnFlags(own, Place("HLO_FLAGS"), /*is_for_all_tools=*/true, outer));
  words.insert(words.begin(), outer.begin(), outer.end());
  return absl::OkStatus();
}

std::string Flags::GivenOptions() const {
  std::string out;
  for (const auto& [name, given] : given_) {
    if (name == "print-options") continue;
    for (const std::string& value : given.values)
      out += fmt::format("{:<48} # {}\n", fmt::format("--{}={}", name, value), given.from);
  }
  return out.empty() ? "every flag has its default\n" : out;
}

}  // namespace hlo
