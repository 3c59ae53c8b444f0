#include "tools/support/xla_flags.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

using enum XlaFlagType;

constexpr XlaFlag kXlaFlags[] = {
#include "tools/support/xla_flags.inc"
};
constexpr auto kByName = [](const XlaFlag& a, const XlaFlag& b) { return a.name < b.name; };
static_assert(std::is_sorted(std::begin(kXlaFlags), std::end(kXlaFlags), kByName));

std::string InOptionsText(const std::string& value, const XlaFlag& flag) {
  switch (flag.type) {
    case kBool: return value.empty() || value == "true" || value == "1" ? "true" : "false";
    case kEnum: return XlaEnumerator(value, flag.enumerators);
    case kText: return fmt::format("\"{}\"", CEscape(value));
    case kUnknown:
    case kInt:
    case kFloat: break;
  }
  return value;
}

}  // namespace

const XlaFlag* FindXlaFlag(std::string_view name) {
  const auto* at =
      std::lower_bound(std::begin(kXlaFlags), std::end(kXlaFlags), XlaFlag{name}, kByName);
  return at != std::end(kXlaFlags) && at->name == name ? at : nullptr;
}

std::string_view ClosestXlaFlag(std::string_view name) {
  std::vector<std::string_view> names;
  for (const XlaFlag& flag : kXlaFlags) names.push_back(flag.name);
  return Closest(name, names);
}

std::string XlaEnumerator(std::string value, std::string_view enumerators) {
  for (char& c : value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  for (const std::string_view name : Split(enumerators, '|')) {
    if (name == value || name.ends_with("_" + value)) return std::string(name);
  }
  return value;
}

std::string DebugOptionsText(const std::map<std::string, std::string>& flags) {
  std::map<int, std::string> lines;  // by place
  for (const auto& [name, value] : flags) {
    const XlaFlag* const flag = FindXlaFlag(name);
    if (flag == nullptr || flag->place < 0) continue;
    std::vector<std::string> texts, defaults;
    const auto add = [&](std::string_view all, std::vector<std::string>& out) {
      if (!flag->is_repeated) return out.push_back(InOptionsText(std::string(all), *flag));
      for (const std::string_view one : Split(all, ','))
        if (!one.empty()) out.push_back(InOptionsText(std::string(one), *flag));
      std::sort(out.begin(), out.end());
    };
    add(value, texts);
    add(flag->default_value, defaults);
    if (texts == defaults) continue;
    std::string& line = lines[flag->place];
    for (const std::string& text : texts) line += fmt::format("{}: {}\n", name, text);
  }
  std::string out;
  for (const auto& [place, line] : lines) out += line;
  return out;
}

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
