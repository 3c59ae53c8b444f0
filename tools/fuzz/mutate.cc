#include "tools/fuzz/mutate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "tools/fuzz/vocabulary.h"

namespace hlo {
namespace {

bool IsWordByte(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

// What one change works on.
struct Change {
  std::string& text;
  std::string_view other;
  FuzzRandom& random;
  size_t max_length;

  void Replace(size_t begin, size_t end, std::string_view with) {
    const std::string copy(with);  // may be a part of text
    if (text.size() - (end - begin) + copy.size() <= max_length)
      text.replace(begin, end - begin, copy);
  }
  std::string_view Part(size_t begin, size_t end) const {
    return std::string_view(text).substr(begin, end - begin);
  }
};

// ---- bytes ----

void FlipBit(Change& c) {
  if (c.text.empty()) return;
  char& byte = c.text[c.random.Below(c.text.size())];
  byte = static_cast<char>(byte ^ (1 << c.random.Below(8)));
}

void OddByte(Change& c) {
  static constexpr std::string_view kOdd("\0\n\r\t\x7f\xff\x80\xc3{}()[]<>\"'\\/*%#,:=-+~?.0", 31);
  const size_t at = c.random.Below(c.text.size() + 1);
  c.Replace(at, std::min(c.text.size(), at + c.random.Below(2)),
            kOdd.substr(c.random.Below(kOdd.size()), 1));
}

void DeleteBytes(Change& c) {
  const size_t begin = c.random.Below(c.text.size() + 1);
  c.text.erase(begin, c.random.Small(64));
}

void RepeatBytes(Change& c) {
  const size_t begin = c.random.Below(c.text.size() + 1);
  const std::string part = c.text.substr(begin, c.random.Small(32));
  std::string many;
  for (size_t n = c.random.Small(100); n > 0; --n) many += part;
  c.Replace(begin, begin, many);
}

void Truncate(Change& c) { c.text.resize(c.random.Below(c.text.size() + 1)); }

void SpliceBytes(Change& c) {
  const size_t from = c.random.Below(c.other.size() + 1);
  const size_t at = c.random.Below(c.text.size() + 1);
  c.Replace(at, std::min(c.text.size(), at + c.random.Small(200)),
            c.other.substr(from, c.random.Small(200)));
}

// ---- tokens ----

// A random run of tokens, as bytes from the first to the last.
TextToken TokenRun(const std::vector<TextToken>& tokens, FuzzRandom& random, size_t longest) {
  const size_t first = random.Below(tokens.size());
  const size_t last = std::min(tokens.size() - 1, first + random.Small(longest) - 1);
  return {tokens[first].begin, tokens[last].end};
}

void DeleteTokens(Change& c) {
  const auto tokens = Tokenize(c.text);
  if (tokens.empty()) return;
  const TextToken run = TokenRun(tokens, c.random, 6);
  c.text.erase(run.begin, run.end - run.begin);
}

void RepeatTokens(Change& c) {
  const auto tokens = Tokenize(c.text);
  if (tokens.empty()) return;
  const TextToken run = TokenRun(tokens, c.random, 12);
  std::string many;
  const bool comma = c.random.OneIn(2);
  for (size_t n = c.random.OneIn(4) ? c.random.Below(200) : 1; n > 0; --n) {
    if (comma) many += ", ";
    many += c.Part(run.begin, run.end);
  }
  c.Replace(run.end, run.end, many);
}

void SwapTokens(Change& c) {
  const auto tokens = Tokenize(c.text);
  if (tokens.size() < 2) return;
  size_t a = c.random.Below(tokens.size());
  size_t b = c.random.OneIn(2) ? std::min(a + 1, tokens.size() - 1) : c.random.Below(tokens.size());
  if (a > b) std::swap(a, b);
  const std::string first(c.Part(tokens[a].begin, tokens[a].end));
  const std::string second(c.Part(tokens[b].begin, tokens[b].end));
  if (a == b) return;
  c.Replace(tokens[b].begin, tokens[b].end, first);
  c.Replace(tokens[a].begin, tokens[a].end, second);
}

// A token becomes another of its kind, or any.
void ReplaceWord(Change& c) {
  const auto tokens = Tokenize(c.text);
  if (tokens.empty()) return;
  // Words are more interesting than brackets: a few tries to hit one.
  TextToken token;
  WordKind kind = WordKind::kOther;
  for (int i = 0; i < 6 && kind == WordKind::kOther; ++i) {
    token = c.random.Pick(tokens);
    kind = KindOf(c.Part(token.begin, token.end));
  }
  if (c.random.OneIn(12)) kind = static_cast<WordKind>(c.random.Below(5));
  c.Replace(token.begin, token.end, c.random.Pick(Words(kind)));
}

void ReplaceNumber(Change& c) {
  std::vector<TextToken> numbers;
  for (const TextToken token : Tokenize(c.text)) {
    const char first = c.text[token.begin];
    if (first == '-' || (first >= '0' && first <= '9')) numbers.push_back(token);
  }
  if (numbers.empty()) return;
  const TextToken token = c.random.Pick(numbers);
  c.Replace(token.begin, token.end, c.random.Pick(Words(WordKind::kNumber)));
}

void InsertWord(Change& c) {
  const auto tokens = Tokenize(c.text);
  const size_t at = tokens.empty() ? 0 : c.random.Pick(tokens).begin;
  const auto kind = static_cast<WordKind>(c.random.Below(5));
  c.Replace(at, at, c.random.Pick(Words(kind)) + (c.random.OneIn(3) ? "" : " "));
}

// A token like one of the other text's.
void TakeToken(Change& c) {
  const auto tokens = Tokenize(c.text), others = Tokenize(c.other);
  if (tokens.empty() || others.empty()) return;
  const TextToken to = TokenRun(tokens, c.random, 3), from = TokenRun(others, c.random, 6);
  c.Replace(to.begin, to.end, c.other.substr(from.begin, from.end - from.begin));
}

// The balanced bracket group that opens at or after a random place; empty when there is none.
TextToken Group(std::string_view text, char open, FuzzRandom& random) {
  std::vector<size_t> opens;
  for (size_t i = 0; i < text.size(); ++i) {
    if (open == 0 ? (text[i] == '(' || text[i] == '{' || text[i] == '[') : text[i] == open)
      opens.push_back(i);
  }
  if (opens.empty()) return {};
  const size_t begin = random.Pick(opens);
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const char b = text[i];
    if (b == '(' || b == '{' || b == '[') ++depth;
    if ((b == ')' || b == '}' || b == ']') && --depth == 0) return {begin, i + 1};
  }
  return {};
}

void TakeGroup(Change& c) {
  const TextToken to = Group(c.text, 0, c.random);
  if (to.end == 0) return;
  const TextToken from = Group(c.other, c.text[to.begin], c.random);
  if (from.end == 0) return;
  c.Replace(to.begin, to.end, c.other.substr(from.begin, from.end - from.begin));
}

// {x} becomes {{x}} or {{x},{x}}, a few times over.
void NestGroup(Change& c) {
  const TextToken group = Group(c.text, 0, c.random);
  if (group.end == 0) return;
  const std::string open(1, c.text[group.begin]), close(1, c.text[group.end - 1]);
  std::string inside(c.Part(group.begin, group.end));
  const size_t levels = c.random.OneIn(8) ? c.random.Below(700) : 1 + c.random.Below(3);
  const bool twice = levels < 4 && c.random.OneIn(2);
  for (size_t i = 0; i < levels && inside.size() < c.max_length; ++i)
    inside = open + (twice ? inside + ", " + inside : inside) + close;
  c.Replace(group.begin, group.end, inside);
}

void EmptyGroup(Change& c) {
  const TextToken group = Group(c.text, 0, c.random);
  if (group.end != 0) c.text.erase(group.begin + 1, group.end - group.begin - 2);
}

// ---- lines ----

TextToken Line(std::string_view text, FuzzRandom& random) {
  if (text.empty()) return {};
  const size_t at = random.Below(text.size());
  const size_t before = text.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t after = text.find('\n', begin);
  return {begin, after == std::string_view::npos ? text.size() : after + 1};
}

void DeleteLine(Change& c) {
  const TextToken line = Line(c.text, c.random);
  c.text.erase(line.begin, line.end - line.begin);
}

void MoveLine(Change& c) {
  const TextToken from = Line(c.text, c.random);
  const std::string line(c.Part(from.begin, from.end));
  if (!c.random.OneIn(3)) c.text.erase(from.begin, from.end - from.begin);
  const size_t to = Line(c.text, c.random).begin;
  c.Replace(to, to, line);
}

void TakeLine(Change& c) {
  const TextToken from = Line(c.other, c.random);
  const TextToken to = Line(c.text, c.random);
  c.Replace(to.begin, c.random.OneIn(2) ? to.end : to.begin,
            c.other.substr(from.begin, from.end - from.begin));
}

// An attribute of another line put after a line.
void TakeAttribute(Change& c) {
  const TextToken from = Line(c.other, c.random);
  const std::string_view line = c.other.substr(from.begin, from.end - from.begin);
  const size_t start = line.find("), ");
  if (start == std::string_view::npos) return;
  const TextToken to = Line(c.text, c.random);
  size_t end = to.end;
  while (end > to.begin && (c.text[end - 1] == '\n' || c.text[end - 1] == '\r')) --end;
  std::string_view attributes = line.substr(start + 1);
  while (!attributes.empty() && attributes.back() == '\n') attributes.remove_suffix(1);
  c.Replace(end, end, attributes);
}

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

// One line waits for another that stands before it.
void AddControlEdge(Change& c) {
  const TextToken first = Line(c.text, c.random);
  const std::vector<TextToken> tokens = Tokenize(c.Part(first.begin, first.end));
  for (size_t i = 1; i < tokens.size() && i < 4; ++i) {
    if (c.Part(first.begin + tokens[i].begin, first.begin + tokens[i].end) != "=") continue;
    const std::string name(
        c.Part(first.begin + tokens[i - 1].begin, first.begin + tokens[i - 1].end));
    size_t end = first.end;
    for (size_t below = c.random.Small(6); below > 0 && end < c.text.size(); --below)
      end = std::min(c.text.find('\n', end), c.text.size() - 1) + 1;
    while (end > first.end && (c.text[end - 1] == '\n' || c.text[end - 1] == '\r')) --end;
    if (end > first.end) c.Replace(end, end, ", control-predecessors={" + name + "}");
    return;
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

using Mutator = void (*)(Change&);
constexpr Mutator kByteMutators[] = {FlipBit,     OddByte,  DeleteBytes,
                                     RepeatBytes, Truncate, SpliceBytes};
// Those that keep most of the structure stand several times.
constexpr Mutator kTokenMutators[] = {
    DeleteTokens,  RepeatTokens,  SwapTokens,  ReplaceWord,    ReplaceWord,    ReplaceWord,
    ReplaceNumber, InsertWord,    TakeToken,   TakeToken,      TakeGroup,      TakeGroup,
    NestGroup,     EmptyGroup,    DeleteLine,  MoveLine,       TakeLine,       TakeLine,
    TakeAttribute, TakeAttribute, ShareCallee, ShareCallee,    CallAgain,      CallAgain,
    TurnLayout,    TurnLayout,    TurnLayout,  AddControlEdge, AddControlEdge, MarkScheduled};

}  // namespace

std::vector<TextToken> Tokenize(std::string_view text) {
  std::vector<TextToken> tokens;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (IsWordByte(c)) {
      while (end < text.size() && IsWordByte(text[end])) ++end;
    } else if (c == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') ++end;
      end = std::min(end + 1, text.size());
    }
    tokens.push_back({at, end});
    at = end;
  }
  return tokens;
}

std::string Mutate(std::string_view input, std::string_view other, size_t max_length,
                   FuzzRandom& random) {
  std::string text(input.substr(0, max_length));
  const bool bytes_only = random.OneIn(6);
  for (size_t changes = random.Small(8); changes > 0; --changes) {
    Change change{text, other, random, max_length};
    if (bytes_only) {
      kByteMutators[random.Below(std::size(kByteMutators))](change);
    } else {
      kTokenMutators[random.Below(std::size(kTokenMutators))](change);
    }
  }
  if (text.size() > max_length) text.resize(max_length);
  return text;
}

}  // namespace hlo
