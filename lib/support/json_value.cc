// Grammar: RFC 8259. Nesting is limited to kMaxDepth.
#include "lib/support/json_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "lib/support/status.h"
#include "lib/support/utf8.h"

namespace hlo {
namespace {

constexpr int kMaxDepth = 200;

std::string_view KindText(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull: return "null";
    case JsonValue::Kind::kBool: return "a bool";
    case JsonValue::Kind::kNumber: return "a number";
    case JsonValue::Kind::kString: return "a string";
    case JsonValue::Kind::kArray: return "an array";
    case JsonValue::Kind::kObject: return "an object";
  }
  return "";
}

}  // namespace

class JsonParser {
 public:
  explicit JsonParser(JsonDocument& document)
      : document_(document), text_(document.source->text()) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Value(document_.root, 0));
    Blanks();
    if (at_ != text_.size()) return Fail("expected the end of the document");
    return absl::OkStatus();
  }

 private:
  using Kind = JsonValue::Kind;

  absl::Status Fail(std::string_view message) const {
    const std::string seen =
        at_ < text_.size() ? fmt::format("`{}`", text_[at_]) : "the end of the file";
    return Error(Here(), "{}, found {}", message, seen);
  }
  SourceLoc Here() const { return {static_cast<uint32_t>(at_), at_ < text_.size() ? 1u : 0u}; }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Blanks() {
    while (at_ < text_.size() &&
           (Peek() == ' ' || Peek() == '\n' || Peek() == '\t' || Peek() == '\r'))
      ++at_;
  }
  bool Take(char c) {
    Blanks();
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  absl::Status Value(JsonValue& value, int depth) {
    if (depth > kMaxDepth) return Error(Here(), "values are nested more than {} deep", kMaxDepth);
    Blanks();
    value.loc_ = Here();
    const size_t begin = at_;
    RETURN_IF_ERROR(AnyKind(value, depth));
    value.raw_ = text_.substr(begin, at_ - begin);
    return absl::OkStatus();
  }

  absl::Status AnyKind(JsonValue& value, int depth) {
    const char c = Peek();
    if (c == '{') return Object(value, depth);
    if (c == '[') return Array(value, depth);
    if (c == '"') {
      value.kind_ = Kind::kString;
      return String(value.text_);
    }
    if (c == '-' || absl::ascii_isdigit(c)) return Number(value);
    for (std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      value.kind_ = word == "null" ? Kind::kNull : Kind::kBool;
      value.text_ = text_.substr(at_, word.size());
      at_ += word.size();
      return absl::OkStatus();
    }
    return Fail("expected a JSON value");
  }

  absl::Status Object(JsonValue& value, int depth) {
    value.kind_ = Kind::kObject;
    ++at_;
    if (Take('}')) return absl::OkStatus();
    do {
      Blanks();
      if (Peek() != '"') return Fail("expected a key in quotes");
      value.keys_.emplace_back();
      RETURN_IF_ERROR(String(value.keys_.back()));
      if (!Take(':')) return Fail("expected `:`");
      value.items_.emplace_back();
      RETURN_IF_ERROR(Value(value.items_.back(), depth + 1));
    } while (Take(','));
    return Take('}') ? absl::OkStatus() : Fail("expected `,` or `}`");
  }

  absl::Status Array(JsonValue& value, int depth) {
    value.kind_ = Kind::kArray;
    ++at_;
    if (Take(']')) return absl::OkStatus();
    do {
      value.items_.emplace_back();
      RETURN_IF_ERROR(Value(value.items_.back(), depth + 1));
    } while (Take(','));
    return Take(']') ? absl::OkStatus() : Fail("expected `,` or `]`");
  }

  absl::Status Number(JsonValue& value) {
    value.kind_ = Kind::kNumber;
    const size_t begin = at_;
    const auto digits = [this] {
      const size_t first = at_;
      while (Peek() >= '0' && Peek() <= '9') ++at_;
      return at_ > first;
    };
    if (Peek() == '-') ++at_;
    if (!digits()) return Fail("expected a digit");
    if (Peek() == '.') {
      ++at_;
      if (!digits()) return Fail("expected a digit");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!digits()) return Fail("expected a digit");
    }
    value.text_ = text_.substr(begin, at_ - begin);
    value.loc_.length = static_cast<uint32_t>(at_ - begin);
    return absl::OkStatus();
  }

  absl::Status String(std::string_view& out) {
    const size_t begin = ++at_;
    bool has_escapes = false;
    while (Peek() != '"') {
      if (at_ >= text_.size() || static_cast<unsigned char>(Peek()) < 0x20)
        return Fail("expected `\"`");
      if (Peek() == '\\') {
        has_escapes = true;
        ++at_;
      }
      ++at_;
    }
    if (at_ > text_.size()) return Fail("expected `\"`");
    out = text_.substr(begin, at_ - begin);
    ++at_;
    if (!has_escapes) return absl::OkStatus();
    document_.unescaped.push_back(std::make_unique<std::string>());
    RETURN_IF_ERROR(Unescape(out, *document_.unescaped.back()));
    out = *document_.unescaped.back();
    return absl::OkStatus();
  }

  absl::Status Unescape(std::string_view raw, std::string& out) const {
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\') {
        out += raw[i];
        continue;
      }
      constexpr std::string_view kFrom = "\"\\/bfnrt";
      constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
      const char c = raw[++i];
      if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
        out += kTo[known];
        continue;
      }
      uint32_t code = 0;
      if (c != 'u' || !Hex(raw.substr(i + 1), code)) return Fail("bad escape in a string");
      i += 4;
      uint32_t low = 0;
      if (code >= 0xD800 && code < 0xDC00 && raw.substr(i + 1, 2) == "\\u" &&
          Hex(raw.substr(i + 3), low)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
      // Half a surrogate pair is no character.
      if (!AppendUtf8(code, out)) AppendUtf8(0xFFFD, out);
    }
    return absl::OkStatus();
  }

  static bool Hex(std::string_view digits, uint32_t& code) {
    if (digits.size() < 4) return false;
    return std::from_chars(digits.data(), digits.data() + 4, code, 16).ptr == digits.data() + 4;
  }

  JsonDocument& document_;
  std::string_view text_;
  size_t at_ = 0;
};

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

absl::StatusOr<const JsonValue*> JsonValue::Get(std::string_view key, Kind kind) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return Error(loc_, "this object has no `{}`", key);
  if (value->kind_ != kind) {
    return Error(value->loc_, "`{}` is {}, expected {}", key, KindText(value->kind_),
                 KindText(kind));
  }
  return value;
}

absl::StatusOr<std::string_view> JsonValue::GetString(std::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue* value, Get(key, Kind::kString));
  return value->text();
}

absl::StatusOr<int64_t> JsonValue::GetInt(std::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue* value, Get(key, Kind::kNumber));
  return value->AsInt();
}

absl::StatusOr<uint64_t> JsonValue::GetUnsigned(std::string_view key) const {
  ASSIGN_OR_RETURN(const int64_t value, GetInt(key));
  return static_cast<uint64_t>(value);
}

absl::StatusOr<double> JsonValue::GetDouble(std::string_view key) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return Error(loc_, "this object has no `{}`", key);
  return value->AsDouble();
}

absl::StatusOr<double> JsonValue::AsDouble() const {
  if (kind_ == Kind::kString) {
    if (text_ == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text_ == "inf") return std::numeric_limits<double>::infinity();
    if (text_ == "-inf") return -std::numeric_limits<double>::infinity();
  }
  double value = 0;
  if (kind_ == Kind::kNumber &&
      std::from_chars(text_.data(), text_.data() + text_.size(), value).ec == std::errc()) {
    return value;
  }
  return Error(loc_, "expected a number");
}

absl::StatusOr<int64_t> JsonValue::AsInt() const {
  if (kind_ == Kind::kNumber) {
    const char* end = text_.data() + text_.size();
    int64_t value = 0;
    if (const auto r = std::from_chars(text_.data(), end, value);
        r.ec == std::errc() && r.ptr == end)
      return value;
    uint64_t bits = 0;
    if (const auto r = std::from_chars(text_.data(), end, bits);
        r.ec == std::errc() && r.ptr == end) {
      return static_cast<int64_t>(bits);
    }
    // "3.0" is an integer, too.
    double real = 0;
    if (const auto r = std::from_chars(text_.data(), end, real);
        r.ec == std::errc() && real == std::trunc(real) && std::abs(real) < 9e18) {
      return static_cast<int64_t>(real);
    }
  }
  return Error(loc_, "expected an integer of 64 bits");
}

absl::StatusOr<JsonDocument> ParseJson(std::shared_ptr<const Source> source) {
  JsonDocument document;
  document.source = std::move(source);
  RETURN_IF_ERROR(JsonParser(document).Run());
  return document;
}

std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : AsUtf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace hlo
