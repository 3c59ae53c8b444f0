// What Flags says about itself: the help, the man page and the completion script, all from the same
// table.
#include <algorithm>

#include "lib/support/contains.h"
#include "lib/support/strings.h"
#include "tools/support/flags.h"
#include "tools/support/xla_flags.h"

namespace hlo {
namespace {

constexpr size_t kHelpColumn = 34;

bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

// "platform" of "Platform and compilation".
std::string FirstWord(std::string_view title) {
  std::string word(title.substr(0, title.find(' ')));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return word;
}

// Text for roff: its escape character, and the characters that begin a request.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && out.empty()) out += "\\&";
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string Flags::Help(std::string_view section, bool all) const {
  std::string out;
  if (section.empty()) {
    out = fmt::format("usage: {} {}\n{}\n", program_, arguments_, summary_);
    if (!examples_.empty()) out += "\nexamples:\n";
    for (const auto& [command, explanation] : examples_) {
      if (command.size() + 4 > 58) {
        out += fmt::format("  {}\n      {}\n", command, explanation);
      } else {
        out += fmt::format("  {:<56}{}\n", command, explanation);
      }
    }
  }
  // Of a group with common flags the others are left out, and the notes that belong to all; groups
  // of flags without a common one, too.
  const bool is_short = has_common_ && section.empty() && !all;
  const auto count_of = [this](size_t title, bool only_common) {
    int64_t count = 0;
    for (size_t i = title + 1; i < lines_.size() && !lines_[i].is_title; ++i) {
      const int flag = lines_[i].flag;
      if (flag >= 0 && (!only_common || flags_[static_cast<size_t>(flag)].is_common)) ++count;
    }
    return count;
  };
  bool shown = section.empty(), whole = !is_short;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const HelpLine& line = lines_[i];
    if (line.is_title) {
      shown = section.empty() || StartsWithIgnoringCase(line.text, section);
      if (!shown) continue;
      const int64_t flags = count_of(i, false), common = count_of(i, true);
      shown = !is_short || flags == 0 || common > 0;
      if (!shown) continue;
      whole = !is_short || common == flags;
      out += fmt::format(
          "\n{}:{}\n", line.text,
          whole ? "" : fmt::format(" (all {}: --help={})", flags, FirstWord(line.text)));
    } else if (shown && line.flag < 0) {
      if (whole) out += fmt::format("  {}\n", line.text);
    } else if (shown && (whole || flags_[static_cast<size_t>(line.flag)].is_common)) {
      out += HelpLineOf(flags_[static_cast<size_t>(line.flag)]);
    }
  }
  if (is_short) out += "\n--help-all: every flag; --help=FLAG: one, also of XLA's\n";
  if (all) out += "\nAlso, named above or in XLA's own words:\n" + RestOfFlags();
  return out;
}

std::string Flags::HelpLineOf(const Flag& flag) const {
  std::string left = "  ";
  for (const std::string& alias : flag.aliases) {
    if (alias.size() == 1) left += "-" + alias + ", ";
  }
  left += "--" + flag.name;
  if (flag.has_implicit_value) {
    left += "[=" + flag.placeholder.substr(1);
  } else if (!flag.placeholder.empty()) {
    left += "=" + flag.placeholder;
  }
  if (left.size() + 1 > kHelpColumn)
    return left + "\n" + std::string(kHelpColumn, ' ') + flag.help + "\n";
  return fmt::format("{:<{}}{}\n", left, kHelpColumn, flag.help);
}

std::string Flags::FlagHelp(std::string_view name) const {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const Flag* const flag = Find(dashed);
  return flag == nullptr ? "" : HelpLineOf(*flag);
}

std::string Flags::NearHelpWord(std::string_view word) const {
  std::vector<std::string> words;
  for (const HelpLine& line : lines_) {
    if (line.is_title) words.push_back(FirstWord(line.text));
  }
  for (const Flag& flag : flags_) words.push_back(flag.name);
  return DidYouMean(word, std::vector<std::string_view>(words.begin(), words.end()));
}

void Flags::Common(const std::vector<std::string_view>& names) {
  has_common_ = true;
  for (Flag& flag : flags_) {
    if (Contains(names, flag.name)) flag.is_common = true;
  }
}

// The flags without a line of their own, and the other names of those that have one.
std::string Flags::RestOfFlags() const {
  std::string out = "  --config=FILE\n  --debug-options-file=FILE\n";
  for (const Flag& flag : flags_) {
    std::string aliases;
    for (const std::string& alias : flag.aliases) {
      if (alias.size() > 1) aliases += fmt::format("{}--{}", aliases.empty() ? "" : ", ", alias);
    }
    if (flag.help.empty()) {
      out += fmt::format("  --{}{}{}{}\n", flag.name, flag.placeholder.empty() ? "" : "=",
                         flag.placeholder, aliases.empty() ? "" : " (" + aliases + ")");
    } else if (!aliases.empty()) {
      out += fmt::format("  {} is --{}\n", aliases, flag.name);
    }
  }
  return out;
}

std::string Flags::XlaFlagHelp(std::string_view name) const {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (const Flag* flag = Find(dashed)) {
    return fmt::format("--{} is --{} here{}{}\n", name, flag->name, flag->help.empty() ? "" : ": ",
                       flag->help);
  }
  std::string xla_name(name);
  std::replace(xla_name.begin(), xla_name.end(), '-', '_');
  const XlaFlag* const row = FindXlaFlag(xla_name);
  if (row == nullptr) return "";
  std::string text =
      fmt::format("--{} is a flag of XLA that {} accepts and does not use\n", xla_name, program_);
  if (row->type != XlaFlagType::kUnknown)
    text += fmt::format("  default there: {}\n",
                        row->default_value.empty() ? "empty" : row->default_value);
  if (!row->enumerators.empty()) text += fmt::format("  one of {}\n", row->enumerators);
  return text;
}

std::string Flags::ManPage() const {
  std::string out =
      fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n{}\n", Roff(program_),
                  Roff(program_), Roff(summary_), Roff(program_), Roff(arguments_));
  if (!examples_.empty()) out += ".SH EXAMPLES\n";
  for (const auto& [command, explanation] : examples_)
    out += fmt::format(".TP\n.B {}\n{}\n", Roff(command), Roff(explanation));
  out += ".SH OPTIONS\n";
  for (const HelpLine& line : lines_) {
    if (line.is_title) {
      out += fmt::format(".SS {}\n", Roff(line.text));
    } else if (line.flag < 0) {
      out += fmt::format(".PP\n{}\n", Roff(line.text));
    } else {
      const Flag& flag = flags_[static_cast<size_t>(line.flag)];
      std::string names = Roff("--" + flag.name);
      for (const std::string& alias : flag.aliases)
        names += ", " + Roff((alias.size() == 1 ? "-" : "--") + alias);
      std::string value;
      if (!flag.placeholder.empty()) {
        value = flag.has_implicit_value ? "[=" + Roff(flag.placeholder.substr(1))
                                        : "=" + Roff(flag.placeholder);
      }
      out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", names, value, Roff(flag.help));
    }
  }
  return out;
}

std::string Flags::BashCompletion() const {
  std::string words;
  for (const Flag& flag : flags_) {
    if (flag.help.empty()) continue;
    words += fmt::format(" --{}{}", flag.name, flag.needs_value() ? "=" : "");
  }
  std::string function = "_" + program_;
  std::replace(function.begin(), function.end(), '-', '_');
  return fmt::format(
      R"bash(# bash completion of {0}; use it with: source <({0} --completion=bash)
{1}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" passes before
  # bash cuts words at `=`; the flag then stands two words back.
  local flag="${{COMP_WORDS[COMP_CWORD-1]}}"
  [[ "$flag" == "=" ]] && flag="${{COMP_WORDS[COMP_CWORD-2]}}"
  [[ "$word" == "=" ]] && word=""
  if [[ "$flag" == --*pass* ]]; then
    passes="$({0} --list-passes 2>/dev/null)"
    before="${{word%"${{word##*,}}"}}"
    COMPREPLY=($(compgen -P "$before" -W "${{passes//,/ }}" -- "${{word##*,}}"))
    compopt -o nospace
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "{2}" -- "$word"))
    [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F {1} {0}
)bash",
      program_, function, words.empty() ? "" : words.substr(1));
}

}  // namespace hlo
