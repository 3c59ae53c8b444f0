#include "tools/fuzz/mutate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "tools/fuzz/text_change.h"
#include "tools/fuzz/vocabulary.h"

namespace hlo {
namespace {

bool IsWordByte(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

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

void DeleteLine(Change& c) {
  const TextToken line = RandomLine(c.text, c.random);
  c.text.erase(line.begin, line.end - line.begin);
}

void MoveLine(Change& c) {
  const TextToken from = RandomLine(c.text, c.random);
  const std::string line(c.Part(from.begin, from.end));
  if (!c.random.OneIn(3)) c.text.erase(from.begin, from.end - from.begin);
  const size_t to = RandomLine(c.text, c.random).begin;
  c.Replace(to, to, line);
}

void TakeLine(Change& c) {
  const TextToken from = RandomLine(c.other, c.random);
  const TextToken to = RandomLine(c.text, c.random);
  c.Replace(to.begin, c.random.OneIn(2) ? to.end : to.begin,
            c.other.substr(from.begin, from.end - from.begin));
}

// An attribute of another line put after a line.
void TakeAttribute(Change& c) {
  const TextToken from = RandomLine(c.other, c.random);
  const std::string_view line = c.other.substr(from.begin, from.end - from.begin);
  const size_t start = line.find("), ");
  if (start == std::string_view::npos) return;
  const TextToken to = RandomLine(c.text, c.random);
  size_t end = to.end;
  while (end > to.begin && (c.text[end - 1] == '\n' || c.text[end - 1] == '\r')) --end;
  std::string_view attributes = line.substr(start + 1);
  while (!attributes.empty() && attributes.back() == '\n') attributes.remove_suffix(1);
  c.Replace(end, end, attributes);
}

constexpr Mutator kByteMutators[] = {FlipBit,     OddByte,  DeleteBytes,
                                     RepeatBytes, Truncate, SpliceBytes};
// Those that keep most of the structure stand several times.
constexpr Mutator kTokenMutators[] = {
    DeleteTokens, RepeatTokens, SwapTokens, ReplaceWord, ReplaceWord,   ReplaceWord,  ReplaceNumber,
    InsertWord,   TakeToken,    TakeToken,  TakeGroup,   TakeGroup,     NestGroup,    EmptyGroup,
    DeleteLine,   MoveLine,     TakeLine,   TakeLine,    TakeAttribute, TakeAttribute};

}  // namespace

TextToken RandomLine(std::string_view text, FuzzRandom& random) {
  if (text.empty()) return {};
  const size_t at = random.Below(text.size());
  const size_t before = text.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t after = text.find('\n', begin);
  return {begin, after == std::string_view::npos ? text.size() : after + 1};
}

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
    } else if (random.OneIn(3)) {
      random.Pick(ModuleMutators())(change);
    } else {
      kTokenMutators[random.Below(std::size(kTokenMutators))](change);
    }
  }
  if (text.size() > max_length) text.resize(max_length);
  return text;
}

}  // namespace hlo
