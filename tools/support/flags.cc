#include "tools/support/flags.h"

#include <algorithm>
// Its regular expressions would be compiled whenever a program starts.
#define CXXOPTS_NO_REGEX true
#include <cxxopts.hpp>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/support/xla_flags.h"

namespace hlo {
namespace {

constexpr std::string_view kCommandLine = "command line";

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

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

void Flags::AddFlag(std::string names, Target target, FlagValues values, std::string placeholder,
                    std::string help) {
  Flag flag{"", {}, target, std::move(values), "", "", false, ""};
  for (std::string_view name : Split(names, ',')) {
    if (flag.name.empty()) {
      flag.name = WithDashes(name);
    } else {
      flag.aliases.push_back(WithDashes(name));
    }
  }
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
  AddWith({}, std::move(names), value, std::move(help));
}
void Flags::AddWith(std::vector<std::string_view> others, std::string names, bool* value,
                    std::string help) {
  AddFlag(std::move(names), value, FlagValues::Any().With(std::move(others)), "", std::move(help));
}
void Flags::Add(std::string names, int64_t* value, FlagValues values, std::string placeholder,
                std::string help) {
  AddFlag(std::move(names), value, std::move(values), std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, double* value, FlagValues values, std::string placeholder,
                std::string help) {
  AddFlag(std::move(names), value, std::move(values), std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, std::string* value, FlagValues values, std::string placeholder,
                std::string help) {
  AddFlag(std::move(names), value, std::move(values), std::move(placeholder), std::move(help));
}
void Flags::Add(std::string names, std::vector<std::string>* value, FlagValues values,
                std::string placeholder, std::string help) {
  AddFlag(std::move(names), value, std::move(values), std::move(placeholder), std::move(help));
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
    if (flag != nullptr && !flag->is_bool()) return {flag, false, std::string(name.substr(1))};
  }
  if (one_dash && !name.empty() && name.find_first_not_of('v') == std::string_view::npos) {
    const Flag* flag = Find("v");
    if (flag != nullptr && flag->is_bool()) return {flag, false, ""};
    if (flag != nullptr) return {flag, false, std::to_string(name.size())};
  }
  for (const std::string_view no : {"no-", "no"}) {
    if (!name.starts_with(no)) continue;
    const Flag* flag = Find(name.substr(no.size()));
    if (flag != nullptr && flag->is_bool()) return {flag, true, ""};
  }
  return {};
}

absl::Status Flags::TakeWords(std::vector<Word> words) {
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
      // Nobody calls a file 2: `-O 2`.
      const bool takes_next = std::holds_alternative<int64_t*>(flag->target) &&
                              i + 1 < words.size() && IsNumber(words[i + 1].text);
      value = takes_next ? words[++i].text : flag->implicit_value;
    } else if (i + 1 < words.size()) {
      value = words[++i].text;
    } else {
      return Error("`{}` needs a value: --{}={}", word, flag->name, flag->placeholder);
    }
    if (name.starts_with("xla-")) GiveToXla(name, value);
    RETURN_IF_ERROR(Take(*flag, from, std::move(value)));
  }
  return absl::OkStatus();
}

absl::Status Flags::Take(const Flag& flag, std::string_view from, std::string value) {
  const std::string place = from == kCommandLine ? std::string() : fmt::format(" of {}", from);
  const auto wrong = [&](std::string_view mistake) {
    return Error("`{}{}`{}{}{}", flag.name.size() == 1 ? "-" : "--", flag.name, place,
                 mistake.starts_with(':') ? "" : " ", mistake);
  };
  if (flag.is_bool()) {
    if (value == "1" || value == "on" || value == "yes") value = "true";
    if (value == "0" || value == "off" || value == "no") value = "false";
    if (value != "true" && value != "false")
      return wrong(fmt::format("expects true or false, found `{}`", value));
  }
  const bool is_vector = std::holds_alternative<std::vector<std::string>*>(flag.target);
  const bool is_int = std::holds_alternative<int64_t*>(flag.target);
  // Of several the last one counts, but for those that collect.
  std::vector<std::string>& values = given_[flag.name].values;
  if (!is_vector) values.clear();
  try {
    if (int64_t* const* number = std::get_if<int64_t*>(&flag.target)) {
      cxxopts::values::parse_value(value, **number);
    } else if (double* const* real = std::get_if<double*>(&flag.target)) {
      cxxopts::values::parse_value(value, **real);
    } else if (std::string* const* text = std::get_if<std::string*>(&flag.target)) {
      **text = value;
    } else if (bool* const* is_set = std::get_if<bool*>(&flag.target)) {
      **is_set = value == "true";
    } else {
      std::vector<std::string>& all = *std::get<std::vector<std::string>*>(flag.target);
      if (values.empty()) all.clear();
      all.push_back(value);
    }
  } catch (const std::exception&) {
    const std::string mistake = flag.values.Mistake(value);
    const bool is_too_large =
        !value.empty() && value.find_first_not_of("-0123456789") == std::string::npos;
    if (is_too_large && !mistake.empty()) return wrong(mistake);
    return wrong(fmt::format("expects {}, found `{}`",
                             is_too_large ? "an integer of 64 bits"
                             : is_int     ? "an integer"
                                          : "a number",
                             value));
  }
  if (const std::string mistake = flag.values.Mistake(value); !mistake.empty())
    return wrong(mistake);
  given_[flag.name].from = from;
  values.push_back(std::move(value));
  return absl::OkStatus();
}

absl::Status Flags::CheckCompany() const {
  for (const auto& [name, given] : given_) {
    const Flag& flag = *Find(name);
    if (given.from != kCommandLine || flag.values.with().empty()) continue;
    if (flag.is_bool() && given.values.back() == "false") continue;
    bool has_company = false;
    std::string others;
    for (const std::string_view other : flag.values.with()) {
      const auto found = given_.find(std::string(other));
      has_company =
          has_company || (found != given_.end() && found->second.values.back() != "false");
      others += fmt::format("{}`--{}`", others.empty() ? "" : " or ", other);
    }
    if (!has_company) return Error("`--{}` has no effect without {}", name, others);
  }
  for (const auto& [mode, taken] : modes_) {
    const auto found = given_.find(std::string(mode));
    if (found != given_.end() && found->second.values.back() != "false")
      RETURN_IF_ERROR(CheckMode(mode, taken));
  }
  return absl::OkStatus();
}

absl::Status Flags::CheckMode(std::string_view mode,
                              const std::vector<std::string_view>& taken) const {
  for (const auto& [name, given] : given_) {
    const bool is_taken =
        name == mode ||
        std::any_of(taken.begin(), taken.end(), [&name = name](std::string_view other) {
          return other.ends_with('-') ? name.starts_with(other) : name == other;
        });
    if (given.from == kCommandLine && !is_taken)
      return Error("`--{}` has no effect beside `--{}`", name, mode);
  }
  return absl::OkStatus();
}

void Flags::TakesOnly(std::string_view mode, std::vector<std::string_view> taken) {
  modes_[mode] = std::move(taken);
}

absl::Status Flags::Parse(int argc, const char* const* argv) {
  std::vector<Word> words;
  for (int i = 1; i < argc; ++i) words.push_back({argv[i], kCommandLine});
  RETURN_IF_ERROR(AddOuterWords(words));
  RETURN_IF_ERROR(TakeWords(std::move(words)));
  return CheckCompany();
}

std::vector<std::string> Flags::GivenWords(const std::vector<std::string_view>& without) const {
  std::vector<std::string> words;
  for (const auto& [name, given] : given_) {
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    for (const std::string& value : given.values)
      words.push_back(fmt::format("--{}={}", name, value));
  }
  return words;
}

}  // namespace hlo
