// Command line flags of the tools: one spelling rule, one help format, errors with suggestions.
//
// Accepted alike: --name=value, --name value, -name=value, -name value; `-` and `_` are the same
// inside names. A bool flag needs no value; --no-name and --noname turn it off, --name=false too.
// `--` ends the flags, `-` is standard input, @FILE is replaced by the words of FILE, -vv is --v=2.
// Flags of XLA that have no meaning here are passed over; what only looks like one (`--xla_…`) is
// passed over with a warning. Parsing of values is cxxopts', which of them are good is said with
// the flag (flag_values.h): no number and no text comes in unchecked.
//
// Flags come from, later ones winning:
//   --debug_options_file=FILE   flags of XLA in the text form of its DebugOptions
//   --config=FILE               our own, one or more a line, `#` begins a comment
//   XLA_FLAGS                   of the environment: flags of XLA, or a file of them
//   HLO_FLAGS                   of the environment: flags for all tools; those of another tool are
//                               passed over with a warning
//   the command line
// --print-options says which came from where.
//
//   Flags flags("hlo-opt", "[options] FILE…", "transform HLO modules and print them");
//   flags.Group("Passes");
//   flags.Add("passes", &options.passes, FlagValues::Any(), "PIPELINE", "run these passes");
//   RETURN_IF_ERROR(flags.Parse(argc, argv));
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "tools/support/flag_values.h"

namespace hlo {

// `a_b` as `a-b`: the spelling in which names are compared.
std::string WithDashes(std::string_view name);

class Flags {
 public:
  Flags(std::string program, std::string arguments, std::string summary);

  // The flags added after this stand under `title` in the help; `note` lines are printed below
  // them.
  void Group(std::string title);
  void Note(std::string line);
  void Example(std::string command, std::string explanation);
  // The flags that the ordinary help shows, where all of them would be more than a screen; the
  // titles then say how to see a group whole.
  void Common(const std::vector<std::string_view>& names);

  // `names`: the name, then aliases, separated by commas. Without help text a flag is not listed. A
  // placeholder in brackets ("[N]"): the value may be left out; then it is the text in front of `|`
  // inside the brackets ("[1|N]"), or "".
  void Add(std::string names, bool* value, std::string help = "");
  // The switch needs one of these flags beside it.
  void AddWith(std::vector<std::string_view> others, std::string names, bool* value,
               std::string help = "");
  void Add(std::string names, int64_t* value, FlagValues values, std::string placeholder = "N",
           std::string help = "");
  void Add(std::string names, double* value, FlagValues values, std::string placeholder = "X",
           std::string help = "");
  void Add(std::string names, std::string* value, FlagValues values, std::string placeholder,
           std::string help = "");
  // May be given several times; values are not split.
  void Add(std::string names, std::vector<std::string>* value, FlagValues values,
           std::string placeholder, std::string help = "");

  // Beside `mode` no other flag of the command line has an effect but `taken`, where a name that
  // ends in `-` stands for all that begin with it.
  void TakesOnly(std::string_view mode, std::vector<std::string_view> taken);

  // Fills the values. Errors are usage errors (exit code 2).
  absl::Status Parse(int argc, const char* const* argv);
  // Words that are no flags, in order.
  const std::vector<std::string>& positional() const { return positional_; }
  // Whether there is a flag of this name.
  bool has(std::string_view name) const { return Find(name) != nullptr; }
  // Whether the flag of this (first) name was given, wherever.
  bool given(std::string_view name) const { return given_.contains(std::string(name)); }
  // The flags that were given, as a command line takes them; without those of these names.
  std::vector<std::string> GivenWords(const std::vector<std::string_view>& without) const;
  // The flags that were given, with their values and where they came from, one a line.
  std::string GivenOptions() const;
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Flags of XLA that were accepted and have no effect, for who wants to know.
  const std::vector<std::string>& unused() const { return unused_; }

  // All flags of XLA that were given, by XLA's name, whether they have an effect or not.
  const std::map<std::string, std::string>& given_to_xla() const { return given_to_xla_; }

  const std::string& program() const { return program_; }
  // Lines of --version below the program's own.
  void VersionNotes(std::function<std::string()> notes) { version_notes_ = std::move(notes); }
  std::string version_notes() const { return version_notes_ ? version_notes_() : ""; }
  // The line of the help about this flag; empty when there is none.
  std::string FlagHelp(std::string_view name) const;
  // The ordinary help, or the part whose title starts with `section` (in any case); empty if there
  // is none. `all`: every flag.
  std::string Help(std::string_view section = "", bool all = false) const;
  // "; did you mean …?" for a word that is near the first word of a title or a flag, or "".
  std::string NearHelpWord(std::string_view word) const;
  // What this tool does with a flag of XLA, by its name; empty when XLA has none of that name.
  std::string XlaFlagHelp(std::string_view name) const;
  // A page for man(1), in roff.
  std::string ManPage() const;
  // A script that completes flags, pass names and files in bash.
  std::string BashCompletion() const;

 private:
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*>;
  struct Flag {
    std::string name;
    std::vector<std::string> aliases;
    Target target;
    FlagValues values;
    std::string placeholder;
    std::string help;
    bool is_bool() const { return std::holds_alternative<bool*>(target); }
    bool needs_value() const { return !is_bool() && !has_implicit_value; }
    bool has_implicit_value = false;
    std::string implicit_value;
    bool is_common = false;
  };
  // What the help shows: a title, a flag (by number) or a note.
  struct HelpLine {
    std::string text;
    int flag = -1;
    bool is_title = false;
  };
  bool has_common_ = false;
  std::function<std::string()> version_notes_;
  void AddFlag(std::string names, Target target, FlagValues values, std::string placeholder,
               std::string help);
  const Flag* Find(std::string_view name) const;
  std::string RestOfFlags() const;
  std::string HelpLineOf(const Flag& flag) const;
  absl::Status Unknown(std::string_view word, std::string_view name) const;
  // A word of the command line or of another place that holds flags.
  struct Word {
    std::string text;
    std::string_view from;  // one of places_
  };
  // flag_places.cc: the words of files and of the environment, in front of the command line's.
  absl::Status AddOuterWords(std::vector<Word>& words);
  absl::Status AddFlagsOfXla(const std::vector<std::string>& texts, std::string_view from,
                             std::vector<Word>& out);
  absl::Status AddOwnFlags(std::string_view text, std::string_view from, bool is_for_all_tools,
                           std::vector<Word>& out);
  std::string_view Place(std::string name);
  // The flag that a word without its dashes and value names, perhaps as `no-…` or `vv`.
  struct Named {
    const Flag* flag = nullptr;
    bool negated = false;
    std::string value;  // that the name stands for: 2 of -vv, -O2
  };
  Named FindNamed(std::string_view name, bool one_dash) const;
  void GiveToXla(std::string name, std::string value);
  void CheckXlaFlag(const Word& word, const std::string& name);
  // Sorts the words into given_ and positional_, and stores the values.
  absl::Status TakeWords(std::vector<Word> words);
  // Checks the value and stores it.
  absl::Status Take(const Flag& flag, std::string_view from, std::string value);
  // Flags of the command line that mean nothing without others, or beside a mode.
  absl::Status CheckCompany() const;
  absl::Status CheckMode(std::string_view mode, const std::vector<std::string_view>& taken) const;

  std::string program_;
  std::string arguments_;
  std::string summary_;
  std::vector<Flag> flags_;
  std::vector<HelpLine> lines_;
  std::vector<std::pair<std::string, std::string>> examples_;
  std::vector<std::string> positional_;
  struct Given {
    std::string_view from;
    std::vector<std::string> values;  // one, but for flags that collect
  };
  std::map<std::string, Given> given_;                               // by name
  std::map<std::string_view, std::vector<std::string_view>> modes_;  // what they take, by name
  std::map<std::string, std::string> given_to_xla_;
  std::deque<std::string> places_;  // keeps addresses
  std::vector<std::string> warnings_;
  std::vector<std::string> unused_;
};

}  // namespace hlo
