#include "passes/gpu/attribute_dictionary.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class DictionaryParser {
 public:
  explicit DictionaryParser(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<NamedAttribute>> Run() {
    std::vector<NamedAttribute> attributes;
    SkipBlanks();
    RETURN_IF_ERROR(Expect('{', "`{`"));
    while (!Take('}')) {
      ASSIGN_OR_RETURN(NamedAttribute attribute, ParseNamed());
      const bool is_new = absl::c_none_of(
          attributes, [&](const auto& other) { return other.name == attribute.name; });
      if (!is_new) return Error(attribute.loc, "`{}` stands twice", attribute.name);
      attributes.push_back(std::move(attribute));
      if (!Take(',') && Next() != '}') return Wrong("`,` or `}`");
    }
    if (at_ < text_.size()) return Wrong("nothing after the last `}`");
    return attributes;
  }

 private:
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (IsBlank(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool Take(char c) {
    if (Next() != c || at_ == text_.size()) return false;
    ++at_;
    SkipBlanks();
    return true;
  }
  SourceLoc From(size_t begin) const {
    return {static_cast<uint32_t>(begin), static_cast<uint32_t>(std::max(at_, begin + 1) - begin)};
  }
  absl::Status Wrong(std::string_view expected) const {
    const std::string found =
        at_ == text_.size() ? "the end" : fmt::format("`{}`", text_.substr(at_, 12));
    return Error(From(at_), "expected {}, found {}", expected, found);
  }
  absl::Status Expect(char c, std::string_view what) {
    return Take(c) ? absl::OkStatus() : Wrong(what);
  }

  absl::StatusOr<NamedAttribute> ParseNamed() {
    NamedAttribute attribute;
    const size_t begin = at_;
    if (Next() == '"') {
      ASSIGN_OR_RETURN(attribute.name, ParseString());
    } else {
      if (!absl::ascii_isalpha(Next()) && Next() != '_') return Wrong("the name of an attribute");
      while (absl::ascii_isalnum(Next()) ||
             std::string_view("_.$").find(Next()) != std::string_view::npos)
        ++at_;
      attribute.name = text_.substr(begin, at_ - begin);
    }
    attribute.loc = From(begin);
    SkipBlanks();
    if (!Take('=')) {  // a flag
      attribute.value.loc = attribute.loc;
      return attribute;
    }
    ASSIGN_OR_RETURN(attribute.value, ParseValue());
    return attribute;
  }

  absl::StatusOr<AttributeValue> ParseValue() {
    AttributeValue value;
    const size_t begin = at_;
    if (Next() == '"') {
      value.kind = AttributeValue::Kind::kString;
      ASSIGN_OR_RETURN(value.text, ParseString());
    } else if (Next() == '[') {
      value.kind = AttributeValue::Kind::kList;
      RETURN_IF_ERROR(ParseItems(value.items));
    } else {
      RETURN_IF_ERROR(ParseOther(value));
    }
    value.loc = From(begin);
    while (value.loc.length > 1 && IsBlank(text_[begin + value.loc.length - 1])) --value.loc.length;
    SkipBlanks();
    return value;
  }

  // `"…"` with \n, \t, \\, \" and two digits of a hexadecimal number.
  absl::StatusOr<std::string> ParseString() {
    const size_t begin = at_++;
    std::string out;
    for (; Next() != '"'; ++at_) {
      if (at_ == text_.size()) {
        return Error(SourceLoc{static_cast<uint32_t>(begin), 1}, "this string does not end");
      }
      if (Next() != '\\') {
        out += Next();
        continue;
      }
      const char escaped = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      const int high = HexDigit(escaped);
      const int low = high >= 0 && at_ + 2 < text_.size() ? HexDigit(text_[at_ + 2]) : -1;
      if (escaped == '"' || escaped == '\\') {
        out += escaped;
      } else if (escaped == 'n' || escaped == 't') {
        out += escaped == 'n' ? '\n' : '\t';
      } else if (low >= 0) {
        out += static_cast<char>(high * 16 + low);
        ++at_;
      } else {
        return Wrong("`\\n`, `\\t`, `\\\\`, `\\\"` or two hexadecimal digits");
      }
      ++at_;
    }
    ++at_;
    return out;
  }

  absl::Status ParseItems(std::vector<AttributeValue>& items) {
    Take('[');
    while (Next() != ']') {
      ASSIGN_OR_RETURN(items.emplace_back(), ParseValue());
      if (!Take(',') && Next() != ']') return Wrong("`,` or `]`");
    }
    ++at_;
    return absl::OkStatus();
  }

  // Up to the next comma or end outside of brackets: an integer, or what has no value here.
  absl::Status ParseOther(AttributeValue& value) {
    const size_t begin = at_;
    std::string open;
    while (at_ < text_.size()) {
      const char c = Next();
      if (open.empty() && (c == ',' || c == '}' || c == ']')) break;
      if (c == '"') {
        RETURN_IF_ERROR(ParseString().status());
        continue;
      }
      constexpr std::string_view kOpening = "{[(<", kClosing = "}])>";
      if (kOpening.find(c) != std::string_view::npos) {
        open += kClosing[kOpening.find(c)];
      } else if (!open.empty() && c == open.back()) {
        open.pop_back();
      }
      ++at_;
    }
    if (at_ == begin) return Wrong("a value");
    value.text = text_.substr(begin, at_ - begin);
    // What stands before the type, as `4 : i32`.
    std::string_view digits = value.text;
    digits = digits.substr(0, digits.find(':'));
    while (!digits.empty() && IsBlank(digits.back())) digits.remove_suffix(1);
    const bool is_hex = digits.starts_with("0x");
    if (is_hex) digits.remove_prefix(2);
    if (const auto number = ReadNumber<decltype(value.number)>(digits, is_hex ? 16 : 10)) {
      value.kind = AttributeValue::Kind::kInteger;
      value.number = *number;
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<NamedAttribute>> ParseAttributeDictionary(std::string_view text) {
  return DictionaryParser(text).Run();
}

}  // namespace hlo
