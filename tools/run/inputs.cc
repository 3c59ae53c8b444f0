#include "tools/run/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "tools/run/npy.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// "parameter 1 `x`", and the place in a tuple.
std::string Describe(const ParameterLeaf& leaf) {
  return fmt::format("parameter {} `{}`", leaf.parameter, leaf.name);
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

// The number at the end of "arg12", or -1.
int64_t TrailingNumber(const std::string& name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  if (begin == name.size() || name.size() - begin > 15) return -1;
  return std::stoll(name.substr(begin));
}

absl::StatusOr<std::vector<NpzMember>> ReadNpzFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<std::vector<NpzMember>> members = ReadNpz(text);
  if (!members.ok()) return Error("`{}`: {}", path, ToStd(members.status().message()));
  const bool numbered = std::all_of(members->begin(), members->end(), [](const NpzMember& member) {
    return TrailingNumber(member.name) >= 0;
  });
  if (numbered) {
    std::stable_sort(members->begin(), members->end(), [](const NpzMember& a, const NpzMember& b) {
      return TrailingNumber(a.name) < TrailingNumber(b.name);
    });
  }
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
      return Error("{} is one too many: the module takes {} arrays", given.origin, leaves.size());
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

}  // namespace

absl::StatusOr<Literal> ParseShapeAndLiteral(std::string_view text) {
  const size_t end = EndOfWord(text, 0);
  const size_t value = text.find_first_not_of(kBlanks, end);
  if (value == std::string_view::npos) return ParseLiteralWithShape(text);
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
  if (path.ends_with(".npz")) {
    ASSIGN_OR_RETURN(const std::vector<NpzMember> members, ReadNpzFile(path));
    for (const NpzMember& member : members) {
      const std::string origin = fmt::format("{}:{}", path, member.name);
      if (at >= leaves.size())
        return Error("`{}` is one too many: the module takes {} arrays", origin, leaves.size());
      ASSIGN_OR_RETURN(Literal literal, NpyLeaf(member.text, origin, leaves[at++]));
      result.push_back({std::move(literal), fmt::format("`{}`", origin)});
    }
    return result;
  }
  const bool is_file =
      is_marked || path.ends_with(".npy") || path.ends_with(".txt") || IsFile(path);
  std::string text = word;
  if (is_file) {
    ASSIGN_OR_RETURN(text, ReadFile(path));
    if (text.starts_with("\x93NUMPY") || path.ends_with(".npy")) {
      if (at >= leaves.size())
        return Error("`{}` is one too many: the module takes {} arrays", path, leaves.size());
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
  for (const std::string& word : sources.words) {
    ASSIGN_OR_RETURN(const std::vector<LiteralFromWord> given,
                     ReadWord(word, leaves, arrays.size()));
    for (const LiteralFromWord& literal : given)
      RETURN_IF_ERROR(Distribute(literal, leaves, arrays));
  }
  if (arrays.size() < leaves.size()) {
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
    AppendRandomLeaves(module, leaves, seed, arrays);
  }
  result.values = AssembleArguments(module, arrays);
  return result;
}

}  // namespace hlo
