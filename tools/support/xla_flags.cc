#include "tools/support/xla_flags.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr std::string_view kNames[] = {
#include "tools/support/xla_flags.inc"
};
static_assert(std::is_sorted(std::begin(kNames), std::end(kNames)));

}  // namespace

bool IsXlaFlag(std::string_view name) {
  return std::binary_search(std::begin(kNames), std::end(kNames), name);
}

std::string_view ClosestXlaFlag(std::string_view name) { return Closest(name, kNames); }

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

absl::StatusOr<std::vector<std::string>> XlaFlagsOfEnvironment() {
  const char* const value = std::getenv("XLA_FLAGS");
  if (value == nullptr) return std::vector<std::string>();
  std::vector<std::string> words = WordsOf(value);
  if (words.size() == 1 && !words[0].starts_with('-')) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(words[0]));
    words = WordsOf(text);
  }
  return words;
}

absl::StatusOr<std::vector<std::string>> XlaFlagsOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> names;
  std::map<std::string, std::string> values;
  int number = 0;
  for (const std::string_view raw : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return Error("{}:{}: expected `name: value`, found `{}`", path, number, line);
    const std::string name(Trim(line.substr(0, colon)));
    const std::vector<std::string> value = WordsOf(line.substr(colon + 1));
    if (value.size() != 1) return Error("{}:{}: expected one value for `{}`", path, number, name);
    const auto [it, fresh] = values.emplace(name, value[0]);
    if (fresh) {
      names.push_back(name);
    } else {
      it->second += "," + value[0];
    }
  }
  std::vector<std::string> words;
  for (const std::string& name : names) words.push_back(fmt::format("--{}={}", name, values[name]));
  return words;
}

}  // namespace hlo
