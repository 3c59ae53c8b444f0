#include "passes/gpu/autotune_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "absl/strings/ascii.h"
#include "lib/ir/printer.h"
#include "lib/support/file.h"
#include "lib/support/read_number.h"
#include "lib/support/source.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// ---- the messages ----

enum class WireKind : uint8_t { kNumber, kBool, kWord, kText, kMessage };

struct WireField {
  std::string_view name;
  int number;
  WireKind kind;
  std::span<const WireField> fields;  // of a message
};

constexpr std::string_view kMathTypes[] = {"DEFAULT_MATH", "TENSOR_OP_MATH"};

using enum WireKind;
// Results of other kinds than these two are skipped, whatever they hold.
constexpr WireField kGemmFields[] = {{"algorithm", 1, kNumber, {}},
                                     {"autotune_workspace_size", 2, kNumber, {}}};
constexpr WireField kKnobFields[] = {{"key", 1, kNumber, {}}, {"value", 2, kNumber, {}}};
constexpr WireField kWrappedFields[] = {{"value", 1, kNumber, {}}};
constexpr WireField kAlgorithmFields[] = {{"algo_id", 1, kNumber, {}},
                                          {"math_type", 2, kWord, {}},
                                          {"tuning_knobs", 4, kMessage, kKnobFields},
                                          {"is_cudnn_frontend", 5, kBool, {}},
                                          {"workspace_size", 6, kMessage, kWrappedFields}};
constexpr WireField kResultFields[] = {{"gemm", 6, kMessage, kGemmFields},
                                       {"scratch_bytes", 8, kNumber, {}},
                                       {"algorithm", 16, kMessage, kAlgorithmFields}};
constexpr WireField kEntryFields[] = {{"device", 1, kText, {}},
                                      {"hlo", 2, kText, {}},
                                      {"result", 3, kMessage, kResultFields},
                                      {"version", 4, kNumber, {}}};
constexpr WireField kResultsFields[] = {{"version", 1, kNumber, {}},
                                        {"results", 4, kMessage, kEntryFields}};

// A message as it was read: its known fields in order.
struct WireMessage {
  struct Value {
    const WireField* field;
    int64_t number = 0;
    std::string text;
    std::vector<WireMessage> message;  // one
  };
  std::vector<Value> values;

  void Number(const WireField& field, int64_t number) {
    if (number != 0) values.push_back({&field, number, {}, {}});
  }
  void Text(const WireField& field, std::string text) {
    values.push_back({&field, 0, std::move(text), {}});
  }
  void Message(const WireField& field, WireMessage message) {
    values.push_back({&field, 0, {}, {std::move(message)}});
  }
  int64_t NumberOf(const WireField& field) const {
    int64_t number = 0;
    for (const Value& value : values) number = value.field == &field ? value.number : number;
    return number;
  }
  std::string TextOf(const WireField& field) const {
    std::string text;
    for (const Value& value : values) {
      if (value.field == &field) text = value.text;
    }
    return text;
  }
  std::vector<const WireMessage*> MessagesOf(const WireField& field) const {
    std::vector<const WireMessage*> messages;
    for (const Value& value : values) {
      if (value.field == &field) messages.push_back(&value.message[0]);
    }
    return messages;
  }
};

const WireField* FieldNumbered(std::span<const WireField> fields, int number) {
  const auto at =
      absl::c_find_if(fields, [&](const WireField& field) { return field.number == number; });
  return at == fields.end() ? nullptr : &*at;
}
const WireField* FieldNamed(std::span<const WireField> fields, std::string_view name) {
  const auto at =
      absl::c_find_if(fields, [&](const WireField& field) { return field.name == name; });
  return at == fields.end() ? nullptr : &*at;
}

// ---- binary ----

enum WireType : uint64_t { kVarint = 0, kEightBytes = 1, kLengthDelimited = 2, kFourBytes = 5 };

bool ReadVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool TakeBytes(std::string_view& bytes, uint64_t count, std::string_view& taken) {
  if (count > bytes.size()) return false;
  taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return true;
}

// Whether the bytes are such a message.
bool ReadBinary(std::string_view bytes, std::span<const WireField> fields, WireMessage& out) {
  while (!bytes.empty()) {
    uint64_t tag = 0, number = 0;
    std::string_view body;
    if (!ReadVarint(bytes, tag)) return false;
    const uint64_t type = tag & 7;
    const WireField* const field = FieldNumbered(fields, static_cast<int>(tag >> 3));
    if (type == kVarint) {
      if (!ReadVarint(bytes, number)) return false;
    } else if (type == kLengthDelimited) {
      if (!ReadVarint(bytes, number) || !TakeBytes(bytes, number, body)) return false;
    } else if (type == kEightBytes || type == kFourBytes) {
      if (!TakeBytes(bytes, type == kEightBytes ? 8 : 4, body)) return false;
    } else {
      return false;
    }
    if (field == nullptr) continue;
    const bool has_length = field->kind == kText || field->kind == kMessage;
    if (type != (has_length ? kLengthDelimited : kVarint)) return false;
    WireMessage::Value& value = out.values.emplace_back();
    value.field = field;
    value.number = has_length ? 0 : static_cast<int64_t>(number);
    if (field->kind == kText) value.text = std::string(body);
    if (field->kind == kMessage && !ReadBinary(body, field->fields, value.message.emplace_back()))
      return false;
  }
  return true;
}

void WriteVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void WriteBinary(const WireMessage& message, std::string& out) {
  for (const WireMessage::Value& value : message.values) {
    const auto number = static_cast<uint64_t>(value.field->number) << 3;
    if (value.field->kind != kText && value.field->kind != kMessage) {
      WriteVarint(out, number | kVarint);
      WriteVarint(out, static_cast<uint64_t>(value.number));
      continue;
    }
    std::string body = value.text;
    if (value.field->kind == kMessage) WriteBinary(value.message[0], body);
    WriteVarint(out, number | kLengthDelimited);
    WriteVarint(out, body.size());
    out += body;
  }
}

// ---- text ----

class WireTextReader {
 public:
  explicit WireTextReader(const Source& source) : source_(source), text_(source.text()) {}

  absl::Status Read(WireMessage& out) {
    RETURN_IF_ERROR(Fields(kResultsFields, &out, '\0'));
    return at_ == text_.size() ? absl::OkStatus() : Bad("expected a field");
  }

 private:
  absl::Status Bad(std::string_view what) const {
    const LineColumn place = source_.Locate(static_cast<uint32_t>(at_));
    return Error("{}:{}:{}: {}", source_.name(), place.line, place.column, what);
  }
  void Blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::string_view(" \t\r\n,;").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool EatChar(char c) {
    Blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view WireWord() {
    Blanks();
    const size_t start = at_;
    const auto is_part = [](char c) {
      return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '+' || c == '.';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  // Up to `close`; `out` is null in what is skipped.
  absl::Status Fields(std::span<const WireField> fields, WireMessage* out, char close) {
    while (true) {
      Blanks();
      if (at_ == text_.size()) return close == '\0' ? absl::OkStatus() : Bad("expected `}`");
      if (close != '\0' && EatChar(close)) return absl::OkStatus();
      const std::string_view name = WireWord();
      if (name.empty()) return Bad("expected the name of a field");
      RETURN_IF_ERROR(FieldValue(FieldNamed(fields, name), out));
    }
  }

  absl::Status FieldValue(const WireField* field, WireMessage* out) {
    WireMessage::Value value = {field, 0, {}, {}};
    const bool has_colon = EatChar(':');
    Blanks();
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (first == '{' || first == '<') {
      ++at_;
      if (++depth_ > kMostNested) return Bad("messages are nested too deep");
      if (field != nullptr && field->kind != kMessage)
        return Bad("expected a value, not a message");
      WireMessage skipped;
      WireMessage& message = field != nullptr ? value.message.emplace_back() : skipped;
      RETURN_IF_ERROR(Fields(field != nullptr ? field->fields : std::span<const WireField>(),
                             &message, first == '{' ? '}' : '>'));
      --depth_;
    } else if (!has_colon) {
      return Bad("expected `:` or `{`");
    } else if (first == '"' || first == '\'') {
      if (field != nullptr && field->kind != kText) return Bad("expected a number, not a text");
      while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
        RETURN_IF_ERROR(Quoted(value.text));
        Blanks();
      }
    } else {
      RETURN_IF_ERROR(Scalar(field, value.number));
    }
    if (field != nullptr) out->values.push_back(std::move(value));
    return absl::OkStatus();
  }

  absl::Status Scalar(const WireField* field, int64_t& number) {
    Blanks();
    const size_t start = at_;
    const std::string_view word = WireWord();
    if (word.empty()) return Bad("expected a value");
    if (field == nullptr) return absl::OkStatus();
    if (field->kind == kBool && (word == "true" || word == "false")) {
      number = word == "true" ? 1 : 0;
      return absl::OkStatus();
    }
    const auto known = std::find(std::begin(kMathTypes), std::end(kMathTypes), word);
    if (field->kind == kWord && known != std::end(kMathTypes)) {
      number = known - std::begin(kMathTypes);
      return absl::OkStatus();
    }
    const auto read = ReadNumber<std::remove_reference_t<decltype(number)>>(word);
    if (read && field->kind != kText && field->kind != kMessage) {
      number = *read;
      return absl::OkStatus();
    }
    at_ = start;
    return Bad(fmt::format("`{}` is no value of `{}`", word, field->name));
  }

  absl::Status Quoted(std::string& out) {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\n') return Bad("a text ends on its line");
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c >= '0' && c <= '7') {
          int code = c - '0';
          for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7';
               ++i)
            code = code * 8 + (text_[at_++] - '0');
          c = static_cast<char>(code);
        } else {
          c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
      }
      out += c;
    }
    if (at_ == text_.size()) return Bad("a text has no end");
    ++at_;
    return absl::OkStatus();
  }

  static constexpr int kMostNested = 64;
  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string WireQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<uint8_t>(c) < ' ') {
      out += fmt::format("\\{:03o}", static_cast<uint8_t>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void WriteText(const WireMessage& message, int indent, std::string& out) {
  for (const WireMessage::Value& value : message.values) {
    const WireField& field = *value.field;
    out += fmt::format("{:{}}{}", "", indent, field.name);
    if (field.kind == kMessage) {
      out += " {\n";
      WriteText(value.message[0], indent + 2, out);
      out += fmt::format("{:{}}}}\n", "", indent);
    } else if (field.kind == kText) {
      out += ": " + WireQuoted(value.text) + "\n";
    } else if (field.kind == kBool) {
      out += value.number != 0 ? ": true\n" : ": false\n";
    } else if (field.kind == kWord && value.number >= 0 && value.number < std::ssize(kMathTypes)) {
      out += fmt::format(": {}\n", kMathTypes[value.number]);
    } else {
      out += fmt::format(": {}\n", value.number);
    }
  }
}

// ---- structs ----

ConvChoice ConvOf(const WireMessage& algorithm) {
  ConvChoice conv;
  conv.algorithm = algorithm.NumberOf(kAlgorithmFields[0]);
  conv.math_type = algorithm.NumberOf(kAlgorithmFields[1]);
  for (const WireMessage* knob : algorithm.MessagesOf(kAlgorithmFields[2]))
    conv.knobs.push_back({knob->NumberOf(kKnobFields[0]), knob->NumberOf(kKnobFields[1])});
  conv.is_frontend = algorithm.NumberOf(kAlgorithmFields[3]) != 0;
  for (const WireMessage* size : algorithm.MessagesOf(kAlgorithmFields[4]))
    conv.workspace = size->NumberOf(kWrappedFields[0]);
  return conv;
}

WireMessage MessageOf(const ConvChoice& conv) {
  WireMessage algorithm;
  algorithm.Number(kAlgorithmFields[0], conv.algorithm);
  algorithm.Number(kAlgorithmFields[1], conv.math_type);
  for (const TuningKnob& knob : conv.knobs) {
    WireMessage pair;
    pair.Number(kKnobFields[0], knob.key);
    pair.Number(kKnobFields[1], knob.value);
    algorithm.Message(kAlgorithmFields[2], std::move(pair));
  }
  algorithm.Number(kAlgorithmFields[3], conv.is_frontend ? 1 : 0);
  if (conv.workspace) {
    WireMessage size;
    size.Number(kWrappedFields[0], *conv.workspace);
    algorithm.Message(kAlgorithmFields[4], std::move(size));
  }
  return algorithm;
}

AutotuneEntry EntryOf(const WireMessage& message) {
  AutotuneEntry entry;
  entry.device = message.TextOf(kEntryFields[0]);
  entry.hlo = message.TextOf(kEntryFields[1]);
  entry.version = message.NumberOf(kEntryFields[3]);
  for (const WireMessage* result : message.MessagesOf(kEntryFields[2])) {
    entry.scratch_bytes = result->NumberOf(kResultFields[1]);
    for (const WireMessage* gemm : result->MessagesOf(kResultFields[0]))
      entry.gemm = {gemm->NumberOf(kGemmFields[0]), gemm->NumberOf(kGemmFields[1])};
    for (const WireMessage* conv : result->MessagesOf(kResultFields[2])) entry.conv = ConvOf(*conv);
  }
  return entry;
}

WireMessage MessageOf(const AutotuneEntry& entry) {
  WireMessage result;
  if (entry.gemm) {
    WireMessage gemm;
    gemm.Number(kGemmFields[0], entry.gemm->algorithm);
    gemm.Number(kGemmFields[1], entry.gemm->workspace);
    result.Message(kResultFields[0], std::move(gemm));
  }
  result.Number(kResultFields[1], entry.scratch_bytes);
  if (entry.conv) result.Message(kResultFields[2], MessageOf(*entry.conv));
  WireMessage message;
  message.Text(kEntryFields[0], entry.device);
  message.Text(kEntryFields[1], entry.hlo);
  message.Message(kEntryFields[2], std::move(result));
  message.Number(kEntryFields[3], entry.version);
  return message;
}

// A text begins with a name or a comment, which no message of these does.
bool LooksLikeText(std::string_view bytes) {
  const size_t at = bytes.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return true;
  const char c = bytes[at];
  return c == '#' || (at == 0 ? c >= 'a' && c <= 'z' : true);
}

constexpr std::string_view kTextSuffixes[] = {".txt", ".textproto", ".pbtxt", ".prototxt"};

}  // namespace

absl::StatusOr<AutotuneResults> ParseAutotuneResults(std::string_view bytes,
                                                     std::string_view name) {
  WireMessage message;
  if (LooksLikeText(bytes)) {
    const Source source{std::string(name), std::string(bytes)};
    RETURN_IF_ERROR(WireTextReader(source).Read(message));
  } else if (!ReadBinary(bytes, kResultsFields, message)) {
    return Error(
        "`{}` holds no results of an autotuner: it is neither AutotuneResults nor its text", name);
  }
  AutotuneResults results;
  results.version = message.NumberOf(kResultsFields[0]);
  if (results.version != kAutotuneVersion)
    return Error("`{}` holds results of version {}; version {} is read", name, results.version,
                 kAutotuneVersion);
  for (const WireMessage* entry : message.MessagesOf(kResultsFields[1]))
    results.entries.push_back(EntryOf(*entry));
  return results;
}

std::string PrintAutotuneResults(const AutotuneResults& results, AutotuneForm form) {
  WireMessage message;
  message.Number(kResultsFields[0], results.version);
  for (const AutotuneEntry& entry : results.entries)
    message.Message(kResultsFields[1], MessageOf(entry));
  std::string out;
  if (form == AutotuneForm::kText) {
    WriteText(message, 0, out);
  } else {
    WriteBinary(message, out);
  }
  return out;
}

absl::StatusOr<AutotuneResults> ReadAutotuneResults(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ParseAutotuneResults(bytes, path);
}

absl::Status WriteAutotuneResults(const AutotuneResults& results, const std::string& path) {
  const bool is_text = std::any_of(std::begin(kTextSuffixes), std::end(kTextSuffixes),
                                   [&](std::string_view suffix) { return path.ends_with(suffix); });
  return WriteFile(
      path, PrintAutotuneResults(results, is_text ? AutotuneForm::kText : AutotuneForm::kBinary));
}

std::string AutotuneKey(Instruction* call, std::string_view config, Shape shape) {
  PrintOptions options = PrintOptions::Canonical();
  options.backend_config = true;
  options.sort_backend_config = true;
  const std::string own_config(call->backend_config());
  const Shape own_shape = call->shape();
  call->mutable_extras().backend_config = std::string(config);
  call->set_shape(shape);
  std::string key = ToText(*call, options);
  call->mutable_extras().backend_config = own_config;
  call->set_shape(own_shape);
  return key;
}

const AutotuneEntry* FindAutotuneEntry(const AutotuneResults& results, std::string_view device,
                                       std::string_view key) {
  for (const AutotuneEntry& entry : results.entries) {
    if (entry.hlo == key && (device.empty() || entry.device == device)) return &entry;
  }
  return nullptr;
}

}  // namespace hlo
