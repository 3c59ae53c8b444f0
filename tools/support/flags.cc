#include "tools/support/flags.h"

#include <algorithm>

#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/xla_flags.h"

namespace hlo {
std::string WithDashes(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

Flags::Flags(std::string program, std::string arguments, std::string summary)
    : program_(std::move(program)),
      arguments_(std::move(arguments)),
      summary_(std::move(summary)) {}

void Flags::Group(std::string title) { lines_.push_back({std::move(title), -1, true}); }
void Flags::Note(std::string line) { lines_.push_back({std::move(line), -1, false}); }
void Flags::Example(std::string command, std::string explanation) {
  examples_.emplace_back(std::move(command), std::move(explanation));
}

void Flags::AddFlag(std::string names, Target target, std::string placeholder, std::string help) {
  Flag flag;
  for (std::string_view name : Split(names, ',')) {
    if (flag.name.empty()) {
      flag.name = WithDashes(name);
    } else {
      flag.aliases.push_back(WithDashes(name));
    }
  }
  flag.target = target;
  if (placeholder.starts_with('[')) {
    flag.has_implicit_value = true;
    if (const size_t bar = placeholder.find('|'); bar != std::string::npos) {
      flag.implicit_value = placeholder.substr(1, bar - 1);
      placeholder.erase(1, bar);
    }
  }
  flag.placeholder = std::move(placeholder);
  flag.help = std::move(help);
  if (!flag.help.empty()) lines_.push_back({"", static_cast<int>(flags_.size()), false});
  flags_.push_back(std::move(flag));
}

void Flags::Add(std::string names, bool* value, std::string help) {
  AddFlag(std::move(names), value, "", std::move(help));
}
void Flags::Add(std::string names, int64_t* value, std::string placeholder, std::string help) {
  AddFlag(std::move(names), value, std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, double* value, std::string placeholder, std::string help) {
  AddFlag(std::move(names), value, std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, std::string* value, std::string placeholder, std::string help) {
  AddFlag(std::move(names), value, std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, std::vector<std::string>* value, std::string placeholder,
                std::string help) {
  AddFlag(std::move(names), value, std::move(placeholder), std::move(help));
}

const Flags::Flag* Flags::Find(std::string_view name) const {
  for (const Flag& flag : flags_) {
    if (flag.name == name ||
        std::find(flag.aliases.begin(), flag.aliases.end(), name) != flag.aliases.end())
      return &flag;
  }
  return nullptr;
}

absl::Status Flags::Unknown(std::string_view word, std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) {
    names.push_back(flag.name);
    names.insert(names.end(), flag.aliases.begin(), flag.aliases.end());
  }
  const std::string_view closest = Closest(name, names);
  return Error("unknown flag `{}`{}; see --help", word.substr(0, word.find('=')),
               closest.empty() ? "" : fmt::format("; did you mean `--{}`?", closest));
}

// A flag of XLA that this tool does not use.
void Flags::CheckXlaFlag(const Word& word, const std::string& name) {
  std::string xla_name = name;
  std::replace(xla_name.begin(), xla_name.end(), '-', '_');
  const std::string_view written = std::string_view(word.text).substr(0, word.text.find('='));
  const bool is_known = FindXlaFlag(xla_name) != nullptr;
  std::vector<std::string>& list = is_known ? unused_ : warnings_;
  const std::string_view closest = is_known ? "" : ClosestXlaFlag(xla_name);
  std::string text =
      is_known ? fmt::format("`{}` of XLA has no effect here", written)
               : fmt::format("`{}` is not a flag of XLA and has no effect{}", written,
                             closest.empty() ? "" : fmt::format("; did you mean `--{}`?", closest));
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void Flags::GiveToXla(std::string name, std::string value) {
  std::replace(name.begin(), name.end(), '-', '_');
  given_to_xla_[name] = std::move(value);
}

Flags::Named Flags::FindNamed(std::string_view name, bool one_dash) const {
  if (const Flag* flag = Find(name)) return {flag, false, ""};
  // `-O2`: one letter and a digit. `-vv`: as often as you like.
  if (one_dash && name.size() == 2 && name[1] >= '0' && name[1] <= '9') {
    const Flag* flag = Find(name.substr(0, 1));
    if (flag != nullptr && flag->needs_value()) return {flag, false, std::string(name.substr(1))};
  }
  if (one_dash && !name.empty() && name.find_first_not_of('v') == std::string_view::npos) {
    const Flag* flag = Find("v");
    if (flag != nullptr && !flag->is_bool()) return {flag, false, std::to_string(name.size())};
  }
  for (const std::string_view no : {"no-", "no"}) {
    if (!name.starts_with(no)) continue;
    const Flag* flag = Find(name.substr(no.size()));
    if (flag != nullptr && flag->is_bool()) return {flag, true, ""};
  }
  return {};
}

absl::Status Flags::Normalise(std::vector<Word> words, std::vector<std::string>& out) {
  bool flags_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (!flags_ended && word == "--") {
      flags_ended = true;
      continue;
    }
    if (!flags_ended && word.size() > 1 && word[0] == '@') {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(word.substr(1)));
      const std::string_view from = Place(word.substr(1));
      std::vector<Word> more;
      for (std::string& other : WordsOf(text)) more.push_back({std::move(other), from});
      words.erase(words.begin() + static_cast<int64_t>(i));
      words.insert(words.begin() + static_cast<int64_t>(i), more.begin(), more.end());
      if (words.size() > 100'000)
        return Error("`@{}` holds too many words; does it name itself?", from);
      --i;
      continue;
    }
    if (flags_ended || word.size() < 2 || word[0] != '-') {
      positional_.push_back(word);
      continue;
    }
    const size_t dashes = word[1] == '-' ? 2 : 1;
    const size_t equals = word.find('=');
    const std::string name = WithDashes(std::string_view(word).substr(
        dashes, equals == std::string::npos ? equals : equals - dashes));
    const auto [flag, negated, named_value] = FindNamed(name, dashes == 1);
    if (flag == nullptr && name.starts_with("xla-")) {
      CheckXlaFlag(words[i], name);
      GiveToXla(name, equals == std::string::npos ? "" : word.substr(equals + 1));
      continue;
    }
    if (flag == nullptr) return Unknown(word, name);
    if ((negated || !named_value.empty()) && equals != std::string::npos)
      return Error("`{}` takes no value", word.substr(0, equals));
    std::string value;
    const std::string_view from = words[i].from;
    if (negated) {
      value = "false";
    } else if (!named_value.empty()) {
      value = named_value;
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (flag->is_bool()) {
      value = "true";
    } else if (!flag->needs_value()) {
      value = flag->implicit_value;
    } else if (i + 1 < words.size()) {
      value = words[++i].text;
    } else {
      return Error("`{}` needs a value: --{}={}", word, flag->name, flag->placeholder);
    }
    if (flag->is_bool()) {
      if (value == "1" || value == "on" || value == "yes") value = "true";
      if (value == "0" || value == "off" || value == "no") value = "false";
      if (value != "true" && value != "false")
        return Error("`--{}` expects true or false, found `{}`", flag->name, value);
    }
    out.push_back(fmt::format("--{}={}", flag->name, value));
    if (name.starts_with("xla-")) GiveToXla(name, value);
    given_[flag->name] = {from, std::move(value)};
  }
  return absl::OkStatus();
}

absl::Status Flags::Parse(int argc, const char* const* argv) {
  std::vector<std::string> normal = {program_};
  std::vector<Word> words_given;
  const std::string_view here = Place("command line");
  for (int i = 1; i < argc; ++i) words_given.push_back({argv[i], here});
  RETURN_IF_ERROR(AddOuterWords(words_given));
  RETURN_IF_ERROR(Normalise(std::move(words_given), normal));
  // cxxopts knows no one-letter long options; every flag gets a name of its own that is long.
  cxxopts::Options options(program_);
  const auto internal_name = [](const std::string& name) { return "flag-" + name; };
  for (const Flag& flag : flags_) {
    std::shared_ptr<cxxopts::Value> value;
    if (flag.is_bool()) value = cxxopts::value<bool>();
    if (std::holds_alternative<int64_t*>(flag.target)) value = cxxopts::value<int64_t>();
    if (std::holds_alternative<double*>(flag.target)) value = cxxopts::value<double>();
    if (std::holds_alternative<std::string*>(flag.target)) value = cxxopts::value<std::string>();
    if (std::holds_alternative<std::vector<std::string>*>(flag.target))
      value = cxxopts::value<std::vector<std::string>>();
    options.add_options()(internal_name(flag.name), "", value);
  }
  std::vector<const char*> words;
  for (std::string& word : normal) {
    if (words.empty()) {
      words.push_back(word.c_str());
    } else {
      word = "--" + internal_name(word.substr(2));
      words.push_back(word.c_str());
    }
  }
  const Flag* current = nullptr;
  try {
    const cxxopts::ParseResult result = options.parse(static_cast<int>(words.size()), words.data());
    for (const Flag& flag : flags_) {
      if (!given(flag.name)) continue;
      current = &flag;
      const cxxopts::OptionValue& value = result[internal_name(flag.name)];
      std::visit([&value](auto* target) { *target = value.as<std::decay_t<decltype(*target)>>(); },
                 flag.target);
    }
  } catch (const std::exception&) {
    // The only failure left is a value of the wrong kind.
    for (const std::string& word : normal) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      const Flag* flag = Find(word.substr(7, equals - 7));
      if (flag == nullptr || (current != nullptr && flag != current)) continue;
      const std::string value = word.substr(equals + 1);
      const bool is_int = std::holds_alternative<int64_t*>(flag->target);
      if (!is_int && !std::holds_alternative<double*>(flag->target)) continue;
      char* end = nullptr;
      if (is_int) {
        static_cast<void>(std::strtoll(value.c_str(), &end, 0));
      } else {
        static_cast<void>(std::strtod(value.c_str(), &end));
      }
      if (value.empty() || *end != 0) {
        return Error("`--{}` expects {}, found `{}`", flag->name,
                     is_int ? "an integer" : "a number", value);
      }
    }
    return Error("a flag has a value that is out of range; see --help");
  }
  return absl::OkStatus();
}

}  // namespace hlo
