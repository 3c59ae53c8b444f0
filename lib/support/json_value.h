// Reading JSON: a document becomes a tree of values that point into its text. Numbers keep their
// digits, so that 64-bit integers lose nothing; strings are unescaped. Errors carry the place in
// the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/support/source.h"

namespace hlo {

class JsonValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind() const { return kind_; }
  bool IsNumber() const { return kind_ == Kind::kNumber; }
  bool IsString() const { return kind_ == Kind::kString; }
  bool IsArray() const { return kind_ == Kind::kArray; }
  bool IsObject() const { return kind_ == Kind::kObject; }
  SourceLoc loc() const { return loc_; }

  // The digits of a number, the characters of a string, "true" or "false".
  std::string_view text() const { return text_; }
  // The value as it stands in the document.
  std::string_view raw() const { return raw_; }
  // The items of an array, or the values of an object in the order of keys().
  const std::vector<JsonValue>& items() const { return items_; }
  const std::vector<std::string_view>& keys() const { return keys_; }
  // The value of a key, or null.
  const JsonValue* Find(std::string_view key) const;

  // The value under `key`; missing or of another kind is an error at this value.
  absl::StatusOr<const JsonValue*> Get(std::string_view key, Kind kind) const;
  absl::StatusOr<std::string_view> GetString(std::string_view key) const;
  absl::StatusOr<int64_t> GetInt(std::string_view key) const;
  absl::StatusOr<uint64_t> GetUnsigned(std::string_view key) const;
  absl::StatusOr<double> GetDouble(std::string_view key) const;

  // A number, or one of the strings "nan", "inf" and "-inf".
  absl::StatusOr<double> AsDouble() const;
  // An integer of 64 bits, signed or unsigned (then as its bit pattern).
  absl::StatusOr<int64_t> AsInt() const;

 private:
  friend class JsonParser;
  Kind kind_ = Kind::kNull;
  SourceLoc loc_;
  std::string_view text_;
  std::string_view raw_;
  std::vector<JsonValue> items_;
  std::vector<std::string_view> keys_;
};

// A document with the text it points into.
struct JsonDocument {
  std::shared_ptr<const Source> source;
  std::vector<std::unique_ptr<std::string>> unescaped;  // strings that had escapes
  JsonValue root;
};

absl::StatusOr<JsonDocument> ParseJson(std::shared_ptr<const Source> source);

// The text in double quotes, escaped, as UTF-8.
std::string JsonQuoted(std::string_view text);

}  // namespace hlo
