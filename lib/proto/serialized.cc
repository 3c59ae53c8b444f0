#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <array>

#include "lib/ir/printer.h"
#include "lib/proto/fields.h"
#include "lib/proto/proto.h"
#include "lib/proto/schema.h"
#include "lib/proto/wire.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

namespace pb = google::protobuf;

// Messages that hold a module, and the way to it.
struct Container {
  const char* name;
  std::array<const char*, 2> path;
};
constexpr Container kContainers[] = {{"HloSnapshot", {"hlo", "hlo_module"}},
                                     {"HloUnoptimizedSnapshot", {"hlo_module", nullptr}},
                                     {"HloModuleProto", {nullptr, nullptr}}};

// The HloModuleProto in a message of this kind; null when there is none with instructions.
const pb::Message* ModuleIn(const pb::Message& message, const Container& container) {
  const pb::Message* at = &message;
  for (const char* name : container.path) {
    if (name == nullptr) break;
    const pb::FieldDescriptor* field = internal::FieldOf(*at, name);
    if (!at->GetReflection()->HasField(*at, field)) return nullptr;
    at = &at->GetReflection()->GetMessage(*at, field);
  }
  return at->GetReflection()->FieldSize(*at, internal::FieldOf(*at, "computations")) > 0 ? at
                                                                                         : nullptr;
}

std::string_view SkipBlanksAndComments(std::string_view text) {
  while (!text.empty()) {
    if (text[0] == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (std::string_view(" \t\r\n").find(text[0]) != std::string_view::npos) {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  return text;
}

std::string_view TakeWord(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && (text[size] == '_' || (text[size] >= 'a' && text[size] <= 'z')))
    ++size;
  const std::string_view word = text.substr(0, size);
  text = SkipBlanksAndComments(text.substr(size));
  return word;
}

// `name: "…"` or `hlo_module {` with a field inside: no HLO text starts so.
bool LooksLikeTextForm(std::string_view text) {
  text = SkipBlanksAndComments(text);
  const std::string_view word = TakeWord(text);
  if (word.empty() || text.empty()) return false;
  for (const Container& container : kContainers) {
    const pb::FieldDescriptor* field =
        NewProto(container.name)->GetDescriptor()->FindFieldByName(std::string(word));
    if (field == nullptr) continue;
    const bool colon = text[0] == ':';
    std::string_view rest = colon ? SkipBlanksAndComments(text.substr(1)) : text;
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
      return colon && !rest.empty() && (rest[0] == '"' || (rest[0] >= '0' && rest[0] <= '9'));
    if (rest.empty() || (rest[0] != '{' && rest[0] != '<')) continue;
    rest = SkipBlanksAndComments(rest.substr(1));
    if (TakeWord(rest).empty()) continue;
    if (!rest.empty() && (rest[0] == ':' || rest[0] == '{')) return true;
  }
  return false;
}

class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (text.empty()) text = fmt::format("{}:{}: {}", line + 1, column + 1, message);
  }
  std::string text;
};

absl::StatusOr<std::unique_ptr<Module>> ModuleOfBinary(std::string_view bytes) {
  for (const Container& container : kContainers) {
    const std::unique_ptr<pb::Message> message = NewProto(container.name);
    if (!internal::ParseBinary(bytes, *message)) continue;
    if (const pb::Message* module = ModuleIn(*message, container)) return FromProto(*module);
  }
  return Error(
      "these bytes are neither HLO text nor a serialized `HloProto`, `HloModuleProto` or "
      "`HloSnapshot` with a module");
}

absl::StatusOr<std::unique_ptr<Module>> ModuleOfText(std::string_view text) {
  std::string problem;
  size_t furthest = 0;
  for (const Container& container : kContainers) {
    const std::unique_ptr<pb::Message> message = NewProto(container.name);
    pb::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
    FirstError error;
    pb::TextFormat::Parser parser;
    parser.RecordErrorsTo(&error);
    parser.SetRecursionLimit(internal::kMostNesting);
    if (parser.Parse(&input, message.get())) {
      if (const pb::Message* module = ModuleIn(*message, container)) return FromProto(*module);
      if (problem.empty()) problem = "the message holds no module with instructions";
    } else if (const auto at = static_cast<size_t>(input.ByteCount()); at >= furthest) {
      // The kind of message that was understood the longest way.
      furthest = at;
      problem = error.text;
    }
  }
  return Error("{}", problem);
}

}  // namespace

bool IsSerialized(std::string_view bytes) {
  return internal::LooksBinary(bytes) || LooksLikeTextForm(bytes);
}

absl::StatusOr<std::string> TextOfSerialized(std::string_view bytes) {
  if (bytes.size() > INT32_MAX) return Error("a serialized module of more than 2 GiB");
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module,
                   internal::LooksBinary(bytes) ? ModuleOfBinary(bytes) : ModuleOfText(bytes));
  PrintOptions options;
  options.large_constants = true;
  options.lossless = true;
  return ToText(*module, options);
}

absl::StatusOr<std::string> Serialize(const Module& module, SerialForm form, TextReader read) {
  ASSIGN_OR_RETURN(std::unique_ptr<pb::Message> inner, ToProto(module, read));
  const std::unique_ptr<pb::Message> message = NewProto("HloProto");
  message->GetReflection()->SetAllocatedMessage(message.get(), inner.release(),
                                                internal::FieldOf(*message, "hlo_module"));
  return internal::WriteMessage(*message, form);
}

}  // namespace hlo
