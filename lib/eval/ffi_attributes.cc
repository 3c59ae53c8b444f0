#include "lib/eval/ffi_attributes.h"

#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/types/literal.h"

namespace hlo::ffi {
namespace {

// MLIR's `i32` and `ui8` are HLO's s32 and u8, `i1` is pred.
std::optional<ElementType> TypeOf(std::string_view word) {
  std::string name(word);
  if (word == "i1") name = "pred";
  if (word.starts_with("ui")) {
    name = fmt::format("u{}", word.substr(2));
  } else if (word.starts_with("si") || (word.starts_with("i") && word != "i1")) {
    name = fmt::format("s{}", word.substr(word[0] == 's' ? 2 : 1));
  }
  return ElementTypeFromText(name);
}

}  // namespace

class AttributeParser {
 public:
  AttributeParser(std::string_view text, SourceLoc loc) : rest_(text), loc_(loc) {}

  absl::Status Run(AttributeTable& table) {
    SkipBlanks();
    if (rest_.empty()) {
      table.Finish();
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(ParseDictionary(table));
    return rest_.empty() ? absl::OkStatus() : Bad("nothing after the attributes");
  }

 private:
  absl::Status Bad(std::string_view expected) const {
    return ::hlo::Error(loc_, "backend_config of a typed custom call: expected {}, found `{}`",
                        expected, rest_.substr(0, 20));
  }
  void SkipBlanks() {
    while (!rest_.empty() && absl::ascii_isspace(rest_[0])) rest_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    SkipBlanks();
    return true;
  }
  // Letters, digits and what numbers and names are made of.
  std::string_view TakeWord() {
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isalnum(rest_[size]) || std::strchr("_.+-$", rest_[size]) != nullptr))
      ++size;
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    SkipBlanks();
    return word;
  }
  absl::StatusOr<std::string> TakeString() {
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      text += rest_[0];
      rest_.remove_prefix(1);
    }
    if (!Take("\"")) return Bad("`\"`");
    return text;
  }

  absl::Status ParseDictionary(AttributeTable& table) {
    if (!Take("{")) return Bad("`{`");
    while (!Take("}")) {
      std::string name;
      if (rest_.starts_with("\"")) {
        ASSIGN_OR_RETURN(name, TakeString());
      } else {
        name = TakeWord();
      }
      if (name.empty() || !Take("=")) return Bad("NAME = VALUE");
      RETURN_IF_ERROR(ParseValue(table.items_[name]));
      if (!Take(",") && !rest_.starts_with("}")) return Bad("`,` or `}`");
    }
    table.Finish();
    return absl::OkStatus();
  }

  absl::Status ParseValue(AttributeTable::Item& item) {
    if (rest_.starts_with("{")) {
      item.kind = kDictionary;
      item.table = std::make_unique<AttributeTable>();
      return ParseDictionary(*item.table);
    }
    if (rest_.starts_with("\"")) {
      item.kind = kString;
      ASSIGN_OR_RETURN(item.text, TakeString());
      return absl::OkStatus();
    }
    if (Take("array<")) return ParseArray(item);
    item.kind = kScalar;
    const std::string_view number = TakeWord();
    std::string_view type = "i1";
    if (number != "true" && number != "false") {
      const bool is_float = number.find_first_of(".eE") != std::string_view::npos;
      type = Take(":") ? TakeWord() : is_float ? "f64" : "i64";
    }
    return Append(number, type, item, item.scalar.type);
  }

  absl::Status ParseArray(AttributeTable::Item& item) {
    item.kind = kArray;
    const std::string_view type = TakeWord();
    if (!Take(":") && !rest_.starts_with(">")) return Bad("`:` or `>`");
    const std::optional<ElementType> known = TypeOf(type);
    if (!known.has_value()) return Bad("an element type");
    item.array.type = TypeNumber(*known);
    while (!Take(">")) {
      RETURN_IF_ERROR(Append(TakeWord(), type, item, item.array.type));
      ++item.array.size;
      if (!Take(",") && !rest_.starts_with(">")) return Bad("`,` or `>`");
    }
    return absl::OkStatus();
  }

  // The number as the bytes of its type.
  absl::Status Append(std::string_view number, std::string_view type_name,
                      AttributeTable::Item& item, int32_t& type_number) {
    const std::optional<ElementType> type = TypeOf(type_name);
    if (!type.has_value()) return Bad("an element type");
    type_number = TypeNumber(*type);
    Literal value{Shape::Scalar(*type)};
    if (number == "true" || number == "false") {
      value.SetInt(0, number == "true" ? 1 : 0);
    } else if (IsFloat(*type)) {
      const std::optional<double> read = ReadNumber<double>(number);
      if (!read) return Bad("a number");
      value.SetDouble(0, *read);
    } else {
      const std::optional<int64_t> read = ReadNumber<int64_t>(number);
      if (!read) return Bad("an integer");
      value.SetInt(0, *read);
    }
    const auto* data = reinterpret_cast<const char*>(value.data());
    item.bytes.insert(item.bytes.end(), data, data + value.byte_size());
    return absl::OkStatus();
  }

  std::string_view rest_;
  SourceLoc loc_;
};

void AttributeTable::Finish() {
  for (auto& [name, item] : items_) {
    item.name = {name.data(), name.size()};
    item.scalar.value = item.array.data = item.bytes.data();
    item.span = {item.text.data(), item.text.size()};
    item.value = item.kind == kArray    ? static_cast<void*>(&item.array)
                 : item.kind == kScalar ? static_cast<void*>(&item.scalar)
                 : item.kind == kString ? static_cast<void*>(&item.span)
                                        : static_cast<void*>(item.table->attributes());
    kinds_.push_back(item.kind);
    names_.push_back(&item.name);
    values_.push_back(item.value);
  }
  attributes_ = {sizeof(Attributes), nullptr,       std::ssize(kinds_),
                 kinds_.data(),      names_.data(), values_.data()};
}

absl::StatusOr<std::unique_ptr<AttributeTable>> AttributeTable::Parse(std::string_view text,
                                                                      SourceLoc loc) {
  auto table = std::make_unique<AttributeTable>();
  RETURN_IF_ERROR(AttributeParser(text, loc).Run(*table));
  return table;
}

}  // namespace hlo::ffi
