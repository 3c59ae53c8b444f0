#include "tools/run/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "lib/proto/literals.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "tools/run/npy.h"
#include "tools/run/value_words.h"
#include "tools/support/input_demands.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// "parameter 1 `x`", and the place in a tuple; "output 0".
std::string Describe(const ParameterLeaf& leaf) {
  return leaf.parameter < 0 ? leaf.name
                            : fmt::format("parameter {} `{}`", leaf.parameter, leaf.name);
}

absl::Status TooMany(std::string_view what, const std::vector<ParameterLeaf>& leaves) {
  const bool are_outputs = !leaves.empty() && leaves[0].parameter < 0;
  return Error("{} is one too many: the module {} {} {}{}", what, are_outputs ? "has" : "takes",
               leaves.size(), are_outputs ? "output" : "array", leaves.size() == 1 ? "" : "s");
}

absl::StatusOr<Literal> NpyLeaf(std::string_view text, const std::string& origin,
                                const ParameterLeaf& leaf) {
  absl::StatusOr<NpyArray> array = ParseNpy(text);
  if (!array.ok()) return Error("`{}`: {}", origin, ToStd(array.status().message()));
  absl::StatusOr<Literal> literal = ToLiteral(*array, leaf.shape);
  if (!literal.ok())
    return Error("`{}` for {}: {}", origin, Describe(leaf), ToStd(literal.status().message()));
  return literal;
}

// The number of a member that is named by its place, "arr_1" as NumPy does, "arg12", "out0"; or -1.
int64_t PlaceOf(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"",      "arr", "arg",       "in",  "input",
                                            "param", "p",   "parameter", "out", "output"};
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  if (begin == name.size() || name.size() - begin > 15) return -1;
  const int64_t number = std::stoll(std::string(name.substr(begin)));
  name = name.substr(0, begin);
  if (name.ends_with('_') || name.ends_with('.')) name.remove_suffix(1);
  const bool is_known =
      std::find(std::begin(kPrefixes), std::end(kPrefixes), name) != std::end(kPrefixes);
  return is_known ? number : -1;
}

// The leaf that a member is named after; a number that made the name unique may be
// left out. -1: none.
int64_t LeafNamed(std::string_view name, const std::vector<ParameterLeaf>& leaves) {
  int64_t similar = -1, similar_count = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string_view leaf = leaves[i].name;
    if (leaf == name) return static_cast<int64_t>(i);
    const size_t dot = leaf.rfind('.');
    const bool has_number = dot != std::string_view::npos && dot + 1 < leaf.size() &&
                            leaf.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
    if (!has_number || leaf.substr(0, dot) != name) continue;
    similar = static_cast<int64_t>(i);
    ++similar_count;
  }
  return similar_count == 1 ? similar : -1;
}

// The members in the order of the leaves from `at` on: named after them, or by their places.
absl::Status SortMembers(const std::string& path, const std::vector<ParameterLeaf>& leaves,
                         size_t at, std::vector<NpzMember>& members) {
  std::vector<std::pair<int64_t, NpzMember>> sorted;
  const bool by_name = std::any_of(members.begin(), members.end(), [&](const NpzMember& member) {
    return LeafNamed(member.name, leaves) >= 0;
  });
  if (!by_name && members.size() == 1 && leaves.size() == 1) return absl::OkStatus();
  for (NpzMember& member : members) {
    const int64_t place = by_name ? LeafNamed(member.name, leaves) : PlaceOf(member.name);
    if (place < 0) {
      std::vector<std::string_view> names;
      for (const ParameterLeaf& leaf : leaves) names.push_back(leaf.name);
      return Error("`{}`: member `{}` is named after none of {} and has no number such as arr_0{}",
                   path, member.name, Join(names, ", "), DidYouMean(member.name, names));
    }
    sorted.emplace_back(place, std::move(member));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  members.clear();
  for (auto& [place, member] : sorted) {
    const size_t wanted = at + members.size();
    if (by_name && wanted < leaves.size() && place > static_cast<int64_t>(wanted))
      return Error("`{}` has no member for {}", path, Describe(leaves[wanted]));
    if (by_name && place < static_cast<int64_t>(wanted)) {
      return Error("`{}`: member `{}` gives {} a second time", path, member.name,
                   Describe(leaves[static_cast<size_t>(place)]));
    }
    members.push_back(std::move(member));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NpzMember>> ReadNpzFile(const std::string& path,
                                                   const std::vector<ParameterLeaf>& leaves,
                                                   size_t at) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<std::vector<NpzMember>> members = ReadNpz(text);
  if (!members.ok()) return Error("`{}`: {}", path, ToStd(members.status().message()));
  RETURN_IF_ERROR(SortMembers(path, leaves, at, *members));
  return members;
}

// One line's worth of an error of the literal parser, with its place in the text.
absl::Status LiteralError(const absl::Status& status, const std::string& name,
                          const std::string& text) {
  const Source source(name, text);
  const Diagnostic first = DiagnosticsOf(status).front();
  if (!first.loc.known()) return Error("{}: {}", name, first.message);
  const LineColumn at = source.Locate(first.loc.offset);
  std::string caret = source.RenderCaret(first.loc);
  if (!caret.empty()) caret.pop_back();
  return Error("{}:{}:{}: {}\n{}", name, at.line, at.column, first.message, caret);
}

// Comments become blanks, so that places stay what they were.
std::string WithoutComments(std::string text) {
  bool in_comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') in_comment = false;
    if (text[i] == '#' || text.compare(i, 2, "//") == 0) in_comment = true;
    if (in_comment) text[i] = ' ';
  }
  return text;
}

// The first blank outside of brackets at or after `at`.
size_t EndOfWord(std::string_view text, size_t at) {
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth <= 0 && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) return i;
  }
  return text.size();
}

// The end of the literal that starts at `at`: a shape, then one token or one group of brackets.
size_t EndOfLiteral(std::string_view text, size_t at) {
  const size_t value = text.find_first_not_of(kBlanks, EndOfWord(text, at));
  return value == std::string_view::npos ? text.size() : EndOfWord(text, value);
}

// Where the braces of "f32[2]{1, 2}" begin, which are values as nothing else is given; npos where
// there are none after the dimensions, or more.
size_t OnlyBraces(std::string_view text) {
  const size_t braces = text.find("]{");
  if (text.starts_with('(') || braces == std::string_view::npos) return std::string_view::npos;
  int depth = 0;
  for (size_t i = braces + 1; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? braces + 1 : std::string_view::npos;
  }
  return std::string_view::npos;
}

absl::Status Moved(const absl::Status& status, size_t by) {
  Diagnostic first = DiagnosticsOf(status).front();
  if (first.loc.known()) first.loc.offset += static_cast<uint32_t>(by);
  return Error(first.loc, "{}", first.message);
}

// Puts the arrays of `value` into `out`, checking each against the next leaf.
absl::Status Distribute(const LiteralFromWord& given, const std::vector<ParameterLeaf>& leaves,
                        std::vector<Literal>& out) {
  for (Literal& array : ArrayLeaves(given.value)) {
    if (out.size() == leaves.size()) {
      return TooMany(given.origin, leaves);
    }
    const ParameterLeaf& leaf = leaves[out.size()];
    if (!CompatibleIgnoringDynamic(array.shape(), leaf.shape)) {
      return Error("{} for {}: expected `{}`, found `{}`", given.origin, Describe(leaf), leaf.shape,
                   array.shape());
    }
    out.push_back(std::move(array));
  }
  return absl::OkStatus();
}

absl::Status FromDirectory(const std::string& directory, const std::vector<ParameterLeaf>& leaves,
                           std::vector<Literal>& out) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string path = fmt::format("{}/arg{}.npy", directory, i);
    absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) return Error("{} for {}", ToStd(text.status().message()), Describe(leaves[i]));
    ASSIGN_OR_RETURN(Literal literal, NpyLeaf(*text, path, leaves[i]));
    out.push_back(std::move(literal));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Literal>> FromModel(const std::vector<ParameterLeaf>& leaves,
                                               const ModelFile& model) {
  if (leaves.size() != model.inputs.size()) {
    return Error("`{}` describes {} inputs, but the module takes {} arrays", model.path,
                 model.inputs.size(), leaves.size());
  }
  std::vector<Literal> out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ModelInput& input = model.inputs[i];
    if (!CompatibleIgnoringDynamic(input.shape, leaves[i].shape)) {
      return Error("`{}`, input {} for {}: expected `{}`, found `{}`", model.path, i,
                   Describe(leaves[i]), leaves[i].shape, input.shape);
    }
    out.push_back(GenerateInput(leaves[i].shape.WithoutDynamic(), input.spec, model.seed,
                                static_cast<int64_t>(i)));
  }
  return out;
}

// What is said of a leaf last, or null.
template <class What>
const What* SaidOf(const std::vector<MadeInput<What>>& all, const ParameterLeaf& leaf) {
  const What* found = nullptr;
  for (const MadeInput<What>& said : all) {
    const std::string_view name = leaf.name;
    const bool is_meant = said.parameter.empty() || said.parameter == name ||
                          said.parameter == name.substr(0, name.find('{')) ||
                          said.parameter == fmt::format("{}", leaf.parameter);
    if (is_meant) found = &said.what;
  }
  return found;
}

absl::Status CheckNames(const std::vector<std::string>& words,
                        const std::vector<ParameterLeaf>& leaves, std::string_view flag) {
  for (const std::string& word : words) {
    const std::string parameter = SplitMadeInput(word).parameter;
    std::vector<MadeInput<int>> one = {{parameter, 0}};
    const bool is_known = std::any_of(leaves.begin(), leaves.end(), [&](const ParameterLeaf& leaf) {
      return SaidOf(one, leaf) != nullptr;
    });
    if (is_known || leaves.empty()) continue;
    std::vector<std::string_view> names;
    for (const ParameterLeaf& leaf : leaves) names.push_back(leaf.name);
    return Error("`--{}={}`: there is no parameter `{}`{}", flag, word, parameter,
                 DidYouMean(parameter, names));
  }
  return absl::OkStatus();
}

// The leaves from `arrays.size()` on, as --input-dist and --input-range say, or as they are used.
absl::Status MakeLeaves(const Module& module, const std::vector<ParameterLeaf>& leaves,
                        const InputSources& sources, uint64_t seed, std::vector<Literal>& arrays) {
  RETURN_IF_ERROR(CheckNames(sources.distributions, leaves, "input-dist"));
  RETURN_IF_ERROR(CheckNames(sources.ranges, leaves, "input-range"));
  std::vector<MadeInput<Distribution>> distributions;
  std::vector<MadeInput<Range>> ranges;
  for (const std::string& word : sources.distributions) {
    const MadeInput<std::string_view> said = SplitMadeInput(word);
    distributions.push_back({said.parameter, *DistributionFromWord(said.what)});
  }
  for (const std::string& word : sources.ranges) {
    const MadeInput<std::string_view> said = SplitMadeInput(word);
    ranges.push_back({said.parameter, *RangeFromWord(said.what)});
  }
  std::vector<Literal> made = arrays;
  AppendRandomLeaves(module, leaves, seed, made);
  for (size_t i = arrays.size(); i < leaves.size(); ++i) {
    const Distribution* const distribution = SaidOf(distributions, leaves[i]);
    const Range* const range = SaidOf(ranges, leaves[i]);
    if (distribution == nullptr && range == nullptr) continue;
    made[i] = MakeDistributed(leaves[i].shape,
                              distribution == nullptr ? Distribution::kUniform : *distribution,
                              range == nullptr ? std::nullopt : std::optional<Range>(*range), seed,
                              static_cast<int64_t>(i));
  }
  arrays = std::move(made);
  return absl::OkStatus();
}

// A note for each leaf; the first `given` are not made.
void Explain(const Module& module, const std::vector<ParameterLeaf>& leaves, size_t given,
             std::vector<std::string>& notes) {
  const std::map<LeafKey, InputDemand> demands = InputDemands(module);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ParameterLeaf& leaf = leaves[i];
    const auto found = demands.find({leaf.parameter, {leaf.index.begin(), leaf.index.end()}});
    notes.push_back(fmt::format("input {} `{}` {}: {}{}", i, leaf.name, leaf.shape,
                                i < given ? "given" : "made",
                                found == demands.end() ? ", nothing is demanded of it" : ""));
    if (found == demands.end()) continue;
    for (const std::string& reason : found->second.reasons) notes.push_back("  " + reason);
  }
}

}  // namespace

MadeInput<std::string_view> SplitMadeInput(std::string_view word) {
  const size_t colon = word.rfind(':');
  if (colon == std::string_view::npos) return {"", word};
  return {std::string(word.substr(0, colon)), word.substr(colon + 1)};
}

absl::StatusOr<Literal> ParseShapeAndLiteral(std::string_view text) {
  size_t end = EndOfWord(text, 0);
  size_t value = text.find_first_not_of(kBlanks, end);
  if (value == std::string_view::npos) {
    value = OnlyBraces(text);
    if (value == std::string_view::npos) return ParseLiteralWithShape(text);
    end = value;
  }
  ASSIGN_OR_RETURN(const Shape shape, ParseShape(text.substr(0, end)));
  absl::StatusOr<Literal> literal = ParseLiteral(text.substr(value), shape);
  if (!literal.ok()) return Moved(literal.status(), value);
  return literal;
}

absl::StatusOr<std::vector<Literal>> ParseLiterals(const std::string& raw) {
  const std::string text = WithoutComments(raw);
  std::vector<Literal> literals;
  size_t at = 0;
  while ((at = text.find_first_not_of(kBlanks, at)) != std::string::npos) {
    const size_t end = EndOfLiteral(text, at);
    absl::StatusOr<Literal> literal =
        ParseShapeAndLiteral(std::string_view(text).substr(at, end - at));
    if (!literal.ok()) return Moved(literal.status(), at);
    literals.push_back(*std::move(literal));
    at = end;
  }
  return literals;
}

absl::StatusOr<std::vector<LiteralFromWord>> ReadWord(const std::string& word,
                                                      const std::vector<ParameterLeaf>& leaves,
                                                      size_t at) {
  const bool is_marked = !word.empty() && word[0] == '@';
  const std::string path = is_marked ? word.substr(1) : word;
  std::vector<LiteralFromWord> result;
  if (!is_marked && IsValueWord(word)) {
    absl::StatusOr<Literal> literal = ReadValueWord(word, kDefaultSeed, static_cast<int64_t>(at));
    if (!literal.ok()) return Error("`{}`: {}", word, std::string(literal.status().message()));
    result.push_back({*std::move(literal), fmt::format("argument `{}`", word)});
    return result;
  }
  if (path.ends_with(".npz")) {
    ASSIGN_OR_RETURN(const std::vector<NpzMember> members, ReadNpzFile(path, leaves, at));
    for (const NpzMember& member : members) {
      const std::string origin = fmt::format("{}:{}", path, member.name);
      if (at >= leaves.size()) return TooMany(fmt::format("`{}`", origin), leaves);
      ASSIGN_OR_RETURN(Literal literal, NpyLeaf(member.text, origin, leaves[at++]));
      result.push_back({std::move(literal), fmt::format("`{}`", origin)});
    }
    return result;
  }
  if (path.ends_with(".pb") || path.ends_with(".pbtxt")) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StatusOr<Literal> literal = LiteralOfSerialized(bytes);
    if (!literal.ok()) return Error("`{}`: {}", path, ToStd(literal.status().message()));
    result.push_back({*std::move(literal), fmt::format("`{}`", path)});
    return result;
  }
  const bool is_file =
      is_marked || path.ends_with(".npy") || path.ends_with(".txt") || IsFile(path);
  std::string text = word;
  if (is_file) {
    ASSIGN_OR_RETURN(text, ReadFile(path));
    if (text.starts_with("\x93NUMPY") || path.ends_with(".npy")) {
      if (at >= leaves.size()) return TooMany(fmt::format("`{}`", path), leaves);
      ASSIGN_OR_RETURN(Literal literal, NpyLeaf(text, path, leaves[at]));
      result.push_back({std::move(literal), fmt::format("`{}`", path)});
      return result;
    }
  }
  absl::StatusOr<std::vector<Literal>> literals = ParseLiterals(text);
  if (!literals.ok()) return LiteralError(literals.status(), is_file ? path : "<argument>", text);
  if (literals->empty() && !is_file) return Error("`{}` is no literal", word);
  const std::string shortened = word.size() > 40 ? word.substr(0, 37) + "..." : word;
  for (Literal& literal : *literals) {
    result.push_back({std::move(literal), is_file ? fmt::format("`{}`", path)
                                                  : fmt::format("argument `{}`", shortened)});
  }
  return result;
}

absl::StatusOr<std::vector<Literal>> MakeModelArguments(const Module& module,
                                                        const ModelFile& model) {
  ASSIGN_OR_RETURN(const std::vector<Literal> leaves,
                   FromModel(ParameterLeaves(*module.entry()), model));
  return AssembleArguments(module, leaves);
}

absl::StatusOr<Arguments> MakeArguments(const Module& module, const InputSources& sources) {
  const std::vector<ParameterLeaf> leaves = ParameterLeaves(*module.entry());
  Arguments result;
  std::vector<Literal> arrays;
  if (!sources.model_file.empty()) {
    ASSIGN_OR_RETURN(const ModelFile model, ReadModelFile(sources.model_file));
    ASSIGN_OR_RETURN(arrays, FromModel(leaves, model));
  } else if (!sources.directory.empty()) {
    RETURN_IF_ERROR(FromDirectory(sources.directory, leaves, arrays));
  }
  const bool uses_recorded = sources.words.empty() && !sources.seed &&
                             sources.distributions.empty() && sources.ranges.empty() &&
                             arrays.empty() && !sources.recorded.empty();
  for (const Literal& value : uses_recorded ? sources.recorded : std::vector<Literal>())
    RETURN_IF_ERROR(Distribute({value, "a recorded input"}, leaves, arrays));
  if (uses_recorded) result.notes.push_back("inputs are those that were recorded with the module");
  for (const std::string& word : sources.words) {
    ASSIGN_OR_RETURN(const std::vector<LiteralFromWord> given,
                     ReadWord(word, leaves, arrays.size()));
    for (const LiteralFromWord& literal : given)
      RETURN_IF_ERROR(Distribute(literal, leaves, arrays));
  }
  const size_t given = arrays.size();
  if (given < leaves.size()) {
    const bool nothing_given = sources.words.empty();
    if (!nothing_given && !sources.seed) {
      const ParameterLeaf& leaf = leaves[arrays.size()];
      return Error(
          "no input for {} of shape `{}`; got {} of {} arrays (--seed=N makes the missing ones)",
          Describe(leaf), leaf.shape, arrays.size(), leaves.size());
    }
    const uint64_t seed = sources.seed.value_or(kDefaultSeed);
    result.notes.push_back(fmt::format("{} of {} inputs are made from seed {}",
                                       leaves.size() - arrays.size(), leaves.size(), seed));
    RETURN_IF_ERROR(MakeLeaves(module, leaves, sources, seed, arrays));
  }
  if (sources.explain) Explain(module, leaves, given, result.notes);
  result.values = AssembleArguments(module, arrays);
  return result;
}

}  // namespace hlo
