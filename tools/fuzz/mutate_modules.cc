// Changes of modules: who calls what, in which layout, type, size and order.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "tools/fuzz/text_change.h"
#include "tools/fuzz/vocabulary.h"

namespace hlo {
namespace {

// Names of computations in attributes.
std::vector<TextToken> Callees(std::string_view text) {
  constexpr std::string_view kAttributes[] = {
      "to_apply", "calls", "body", "condition", "true_computation", "false_computation"};
  const std::vector<TextToken> tokens = Tokenize(text);
  const auto is = [&](size_t i, std::string_view word) {
    return text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin) == word;
  };
  std::vector<TextToken> callees;
  bool in_branches = false;
  for (size_t i = 2; i < tokens.size(); ++i) {
    if (is(i - 2, "branch_computations")) in_branches = true;
    if (is(i, "}")) in_branches = false;
    if (is(i, "%") || is(i, "{") || is(i, ",")) continue;
    const size_t equals = is(i - 1, "%") ? i - 2 : i - 1;
    const bool names_one = equals > 0 && is(equals, "=") &&
                           std::any_of(std::begin(kAttributes), std::end(kAttributes),
                                       [&](std::string_view word) { return is(equals - 1, word); });
    if (in_branches || names_one) callees.push_back(tokens[i]);
  }
  return callees;
}

// Two callers of one computation.
void ShareCallee(Change& c) {
  const std::vector<TextToken> callees = Callees(c.text);
  if (callees.size() < 2) return;
  const TextToken to = c.random.Pick(callees), from = c.random.Pick(callees);
  c.Replace(to.begin, to.end, c.Part(from.begin, from.end));
}

// The line of a caller a second time, under another name, which one of those that come after it
// reads.
void CallAgain(Change& c) {
  const std::vector<TextToken> callees = Callees(c.text);
  if (callees.empty()) return;
  const size_t in_line = c.random.Pick(callees).begin;
  const size_t begin = c.text.rfind('\n', in_line) + 1;
  const size_t end = std::min(c.text.find('\n', in_line), c.text.size() - 1) + 1;
  const std::vector<TextToken> tokens = Tokenize(c.Part(begin, end));
  const auto word = [&](size_t i) {
    return std::string(c.Part(begin + tokens[i].begin, begin + tokens[i].end));
  };
  size_t name = 0;
  while (name + 1 < tokens.size() && (word(name) == "ROOT" || word(name) == "%")) ++name;
  if (name + 1 >= tokens.size() || word(name + 1) != "=") return;
  const std::string old = word(name);
  const std::string again = old + "_again" + std::to_string(c.random.Below(100));
  const std::string line = "  " + again + std::string(c.Part(begin + tokens[name].end, end));
  std::vector<TextToken> readers;
  for (const TextToken token : Tokenize(c.Part(end, c.text.size()))) {
    if (c.Part(end + token.begin, end + token.end) == old) readers.push_back(token);
  }
  if (!readers.empty()) {
    const TextToken reader = c.random.Pick(readers);
    c.Replace(end + reader.begin, end + reader.end, again);
  }
  c.Replace(begin, begin, line);
}

// An array lies otherwise in memory.
void TurnLayout(Change& c) {
  struct Dims {
    size_t end;  // after the bracket
    int rank;
  };
  std::vector<Dims> shapes;
  for (size_t i = 0; i < c.text.size(); ++i) {
    const bool is_shape = c.text[i] == '[' && i > 0 && absl::ascii_isalnum(c.text[i - 1]);
    if (!is_shape) continue;
    const size_t end = c.text.find_first_not_of("0123456789,<=", i + 1);
    if (end == std::string::npos || c.text[end] != ']') continue;
    const std::string_view dims = c.Part(i, end);
    const auto rank = static_cast<int>(std::count(dims.begin(), dims.end(), ',')) + 1;
    if (rank > 1 && rank < 10) shapes.push_back({end + 1, rank});
  }
  if (shapes.empty()) return;
  const auto [begin, rank] = c.random.Pick(shapes);
  size_t end = begin;
  if (begin < c.text.size() && c.text[begin] == '{') {
    end = c.text.find_first_not_of("0123456789,", begin + 1);
    if (end == std::string::npos || c.text[end] != '}') return;
    ++end;
  }
  std::vector<int> order(static_cast<size_t>(rank));
  for (size_t d = 0; d < order.size(); ++d) {
    order[d] = static_cast<int>(d);
    std::swap(order[d], order[c.random.Below(d + 1)]);
  }
  std::string layout;
  for (const int d : order) layout += (layout.empty() ? "{" : ",") + std::to_string(d);
  c.Replace(begin, end, layout + "}");
}

// The name that a line gives; "" where it gives none.
std::string NameIn(const Change& c, TextToken line) {
  const std::vector<TextToken> tokens = Tokenize(c.Part(line.begin, line.end));
  for (size_t i = 1; i < tokens.size() && i < 4; ++i) {
    if (c.Part(line.begin + tokens[i].begin, line.begin + tokens[i].end) == "=")
      return std::string(c.Part(line.begin + tokens[i - 1].begin, line.begin + tokens[i - 1].end));
  }
  return "";
}

// `line` waits for what is called `name`.
void Wait(Change& c, TextToken line, const std::string& name) {
  size_t end = line.end;
  while (end > line.begin && (c.text[end - 1] == '\n' || c.text[end - 1] == '\r')) --end;
  if (end > line.begin) c.Replace(end, end, ", control-predecessors={" + name + "}");
}

TextToken LineAfter(const Change& c, TextToken line) {
  return {line.end, std::min(c.text.find('\n', line.end), c.text.size() - 1) + 1};
}

// One line waits for another that stands before it.
void AddControlEdge(Change& c) {
  const TextToken first = RandomLine(c.text, c.random);
  const std::string name = NameIn(c, first);
  if (name.empty()) return;
  TextToken line = first;
  for (size_t below = c.random.Small(6); below > 0 && line.end < c.text.size(); --below)
    line = LineAfter(c, line);
  Wait(c, line, name);
}

// Each of several lines waits for the one before it, so that passes leave them alone.
void ChainLines(Change& c) {
  TextToken line = RandomLine(c.text, c.random);
  std::string name = NameIn(c, line);
  for (size_t left = 1 + c.random.Below(16); left > 0 && line.end < c.text.size(); --left) {
    line = LineAfter(c, line);
    std::string next = NameIn(c, line);
    if (name.empty() || next.empty()) return;
    Wait(c, line, name);
    line.end = LineAfter(c, {line.begin, line.begin}).end;  // it is longer now
    name = std::move(next);
  }
}

// The order of the text becomes that of execution.
void MarkScheduled(Change& c) {
  constexpr std::string_view kHeader = "HloModule ";
  const size_t header = c.text.find(kHeader);
  if (header == std::string::npos) return;
  const size_t end = c.text.find_first_of(", \n", header + kHeader.size());
  if (end != std::string::npos) c.Replace(end, end, ", is_scheduled=true");
}

// Every token `old` becomes `now`.
void ReplaceAll(Change& c, const std::string& old, const std::string& now) {
  const std::vector<TextToken> tokens = Tokenize(c.text);
  for (size_t i = tokens.size(); i-- > 0;) {
    if (c.Part(tokens[i].begin, tokens[i].end) == old)
      c.Replace(tokens[i].begin, tokens[i].end, now);
  }
}

// The words before (of arrays, their types) or after the brackets of shapes.
std::vector<std::string> WordsBeside(const Change& c, bool after) {
  const std::vector<TextToken> tokens = Tokenize(c.text);
  std::vector<std::string> words;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (c.Part(tokens[i].begin, tokens[i].end) != "[") continue;
    const TextToken token = tokens[after ? i + 1 : i - 1];
    std::string word(c.Part(token.begin, token.end));
    if (absl::ascii_isdigit(word[0]) == after && absl::ascii_isalnum(word[0]))
      words.push_back(std::move(word));
  }
  return words;
}

// All elements of a type become those of another.
void ChangeType(Change& c) {
  const std::vector<std::string> types = WordsBeside(c, /*after=*/false);
  if (types.empty()) return;
  ReplaceAll(c, c.random.Pick(types), c.random.Pick(Words(WordKind::kType)));
}

// A size becomes another one, or a bound, wherever it stands.
void ChangeSize(Change& c) {
  constexpr std::string_view kSizes[] = {"0", "1", "1", "2", "3", "5", "8", "17"};
  const std::vector<std::string> sizes = WordsBeside(c, /*after=*/true);
  if (sizes.empty()) return;
  const std::string& old = c.random.Pick(sizes);
  ReplaceAll(
      c, old,
      c.random.OneIn(4) ? "<=" + old : std::string(kSizes[c.random.Below(std::size(kSizes))]));
}

}  // namespace

const std::vector<Mutator>& ModuleMutators() {
  // Those that find most stand several times.
  static const std::vector<Mutator> mutators = {
      ShareCallee,    ShareCallee,    CallAgain,  CallAgain,  TurnLayout,    TurnLayout, TurnLayout,
      AddControlEdge, AddControlEdge, ChainLines, ChainLines, MarkScheduled, ChangeType, ChangeType,
      ChangeType,     ChangeSize,     ChangeSize, ChangeSize, ChangeSize};
  return mutators;
}

}  // namespace hlo
