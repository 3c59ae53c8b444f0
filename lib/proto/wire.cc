#include "lib/proto/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "lib/support/status.h"

namespace hlo::internal {

namespace pb = google::protobuf;

bool ParseBinary(std::string_view bytes, pb::Message& message) {
  pb::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                 static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMostNesting);
  return message.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

namespace {

// Whether it begins as text of HLO does, after blanks and comments.
bool BeginsAsModule(std::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n\f\v"), bytes.size()));
    const bool is_line = bytes.starts_with("//");
    if (!is_line && !bytes.starts_with("/*"))
      return bytes.starts_with("HloModule") || bytes.starts_with("ENTRY");
    const size_t end = is_line ? bytes.find('\n') : bytes.find("*/", 2);
    if (end == std::string_view::npos) return false;
    bytes.remove_prefix(is_line ? end : end + 2);
  }
}

}  // namespace

bool LooksBinary(std::string_view bytes) {
  if (BeginsAsModule(bytes)) return false;
  for (const char c : bytes.substr(0, 4096)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\v') return true;
  }
  return false;
}

absl::StatusOr<std::string> WriteMessage(const pb::Message& message, SerialForm form) {
  std::string out;
  if (form == SerialForm::kText) {
    pb::TextFormat::Printer printer;
    printer.PrintToString(message, &out);
    return out;
  }
  if (form == SerialForm::kJson) {
    pb::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.preserve_proto_field_names = true;
    const auto status = pb::util::MessageToJsonString(message, &out, options);
    if (!status.ok())
      return Error("no JSON: {}", std::string(status.message().data(), status.message().size()));
    return out;
  }
  {
    pb::io::StringOutputStream stream(&out);
    pb::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!message.SerializeToCodedStream(&coded))
      return Error("the module is too large for a message");
  }
  return out;
}

}  // namespace hlo::internal
