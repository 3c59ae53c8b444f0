#include "tools/info/options.h"

#include "lib/analysis/cost.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

using V = FlagValues;

constexpr std::string_view kAll = "all";

std::vector<std::string_view> SectionNames() {
  std::vector<std::string_view> names = {kAll};
  for (const SectionKind& kind : AllSectionKinds()) names.push_back(kind.name);
  return names;
}

std::vector<std::string_view> RateNames() {
  std::vector<std::string_view> names;
  for (const PlatformRates& rates : AllPlatformRates()) names.push_back(rates.platform);
  return names;
}

// Flags that have no meaning beside another one.
struct Excluded {
  std::string_view flag, other;
};
constexpr Excluded kExcluded[] = {{"json", "csv"}, {"operands", "users"}};
// What prints a part of the module, and what is about tables.
constexpr std::string_view kParts[] = {"extract", "around", "paths", "stack"};
constexpr std::string_view kOfTables[] = {"json", "csv", "show", "top", "filter", "exact"};

std::string PathsMistake(const std::string& text) {
  const size_t comma = text.find(',');
  const bool is_pair = comma != std::string::npos && comma > 0 && comma + 1 < text.size() &&
                       text.find(',', comma + 1) == std::string::npos;
  return is_pair ? "" : fmt::format("expects two names A,B, found `{}`", text);
}

// `--users=NAME` is `--around=NAME --users`.
absl::Status ReadNeighbours(const Flags& flags, InfoOptions& o) {
  o.only_operands = flags.given("operands");
  o.only_users = flags.given("users");
  for (const auto& [flag, name] :
       {std::pair("operands", o.operands), std::pair("users", o.users)}) {
    if (!flags.given(flag)) continue;
    if (name.empty() == o.around.empty()) {
      return name.empty()
                 ? Error("`--{}` needs a name: `--{}=NAME`", flag, flag)
                 : Error("`--{}` and `--{}={}` cannot both be given", "around", flag, name);
    }
    if (!name.empty()) o.around = name;
  }
  return absl::OkStatus();
}

}  // namespace

void AddInfoFlags(Flags& flags, InfoOptions& o) {
  flags.Example("hlo-info f.hlo", "what there is to know of a module");
  flags.Example("hlo-info f.hlo --show=cost,source --top=20", "what takes time");
  flags.Example("hlo-info *.hlo --show=summary --csv", "a line for each file");
  flags.Example("hlo-info f.hlo --extract=fusion.3 --producers=0", "one fusion as a module");
  flags.Group("What is shown");
  flags.Add("show", &o.show, V::ListOf(SectionNames()), "NAMES",
            "these sections, or `all` (default: those with * below)");
  flags.Add("filter", &o.filter, V::Regex(), "REGEX", "rows with a text that matches");
  flags.Add("top", &o.top, V::From(0), "N",
            "rows of each table, 0 for all (default: 10 in text, else all)");
  flags.Add("platform", &o.platform, V::Words(RateNames()), "P",
            "cpu (default) or gpu: by whose speed shares and seconds are estimated");
  flags.Add("split-input-file", &o.split, "cut inputs at `// -----` lines");
  flags.Group("Sections");
  for (const SectionKind& kind : AllSectionKinds()) {
    flags.Note(fmt::format("{} {:<14} {}", kind.is_default ? '*' : ' ', kind.name, kind.summary));
  }
  flags.Group("How it is shown");
  flags.Add("fingerprint", &o.fingerprint,
            "a line for each module: a hash of what it computes, whatever its names and metadata");
  flags.Add("json", &o.json, "for machines, all modules in one document");
  flags.Add("csv", &o.csv, "for spreadsheets: one section, a line for each row");
  flags.Add("exact", &o.exact, "text with numbers in full and long words uncut");
  flags.Add("output,o", &o.output, V::Some(), "FILE", "write there (default -)");
  flags.Group("A part of the module");
  flags.Add("extract", &o.extract, V::Some(), "NAME",
            "print it as a module: a computation, or an instruction and what it is made from");
  flags.Add("producers", &o.producers, V::From(0).With({"extract"}), "N",
            "only so many steps of that (0: the instruction alone); the rest are parameters");
  flags.Add("around", &o.around, V::Some(), "NAME",
            "print an instruction, what it is made from and who uses it");
  flags.Add("operands", &o.operands, V::Any(), "[NAME]", "the same: only what it is made from");
  flags.Add("users", &o.users, V::Any(), "[NAME]", "the same: only who uses it");
  flags.Add("depth", &o.depth, V::From(0).With({"around", "operands", "users"}), "N",
            "up to so many steps (default: 1)");
  flags.Add("paths", &o.paths, V::Passing(PathsMistake), "A,B",
            "print the instructions by which the value of A gets to B");
  flags.Add("stack", &o.stack, V::Some(), "NAME", "print who runs an instruction, up to the entry");
  flags.Group("Exit codes");
  flags.Note("0 ok, 1 bad input or no such part, 2 usage, 70 internal error");
}

absl::Status CheckInfoFlags(const Flags& flags, InfoOptions& o) {
  for (const auto& [flag, other] : kExcluded) {
    if (flags.given(flag) && flags.given(other))
      return Error("`--{}` and `--{}` cannot both be given", flag, other);
  }
  RETURN_IF_ERROR(ReadNeighbours(flags, o));
  for (const std::string_view part : kParts) {
    const bool is_given = flags.given(part) || (part == "around" && !o.around.empty());
    if (!is_given) continue;
    for (const std::string_view other : kOfTables) {
      if (flags.given(other)) return Error("`--{}` and `--{}` cannot both be given", part, other);
    }
    for (const std::string_view other : kParts) {
      if (other != part && flags.given(other))
        return Error("`--{}` and `--{}` cannot both be given", part, other);
    }
    if (flags.positional().size() > 1)
      return Error("`--{}` takes one input file, found also `{}`", part, flags.positional()[1]);
  }
  if (o.csv && (o.show.empty() || o.show == kAll || Split(o.show, ',').size() > 1))
    return Error("`--csv` writes one table: give one section, such as `--show=cost`");
  if (!flags.given("top") && (o.json || o.csv)) o.top = 0;
  return absl::OkStatus();
}

}  // namespace hlo
