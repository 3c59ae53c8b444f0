#include "lib/proto/literals.h"

#include <google/protobuf/text_format.h>

#include "lib/proto/fields.h"
#include "lib/proto/schema.h"
#include "lib/proto/values.h"
#include "lib/proto/wire.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

namespace pb = google::protobuf;

absl::StatusOr<Literal> LiteralIn(const pb::Message& message) {
  std::string problem;
  Literal literal = internal::ReadLiteral(internal::FieldReader(message, problem));
  if (!problem.empty()) return Error("{}", problem);
  return literal;
}

// Those of the field `arguments`.
absl::StatusOr<std::vector<Literal>> ArgumentsIn(const pb::Message& message) {
  std::vector<Literal> arguments;
  const pb::FieldDescriptor* const field = internal::FieldOf(message, "arguments");
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    ASSIGN_OR_RETURN(arguments.emplace_back(),
                     LiteralIn(message.GetReflection()->GetRepeatedMessage(message, field, i)));
  }
  return arguments;
}

}  // namespace

absl::StatusOr<std::string> SerializeLiteral(const Literal& literal, SerialForm form) {
  const std::unique_ptr<pb::Message> message = NewProto("LiteralProto");
  internal::WriteLiteral(literal, *message);
  return internal::WriteMessage(*message, form);
}

absl::StatusOr<Literal> LiteralOfSerialized(std::string_view bytes) {
  const std::unique_ptr<pb::Message> message = NewProto("LiteralProto");
  const bool is_read = bytes.size() <= INT32_MAX &&
                       (internal::LooksBinary(bytes)
                            ? internal::ParseBinary(bytes, *message)
                            : pb::TextFormat::ParseFromString(std::string(bytes), message.get()));
  if (!is_read) return Error("this is no serialized `LiteralProto`");
  return LiteralIn(*message);
}

absl::StatusOr<std::vector<Literal>> RecordedArguments(std::string_view bytes) {
  if (bytes.size() > INT32_MAX || !internal::LooksBinary(bytes)) return std::vector<Literal>();
  const std::unique_ptr<pb::Message> snapshot = NewProto("HloSnapshot");
  if (internal::ParseBinary(bytes, *snapshot) &&
      snapshot->GetReflection()->HasField(*snapshot, internal::FieldOf(*snapshot, "hlo")))
    return ArgumentsIn(*snapshot);
  const std::unique_ptr<pb::Message> unoptimized = NewProto("HloUnoptimizedSnapshot");
  const pb::FieldDescriptor* const partitions = internal::FieldOf(*unoptimized, "partitions");
  if (!internal::ParseBinary(bytes, *unoptimized) ||
      unoptimized->GetReflection()->FieldSize(*unoptimized, partitions) == 0)
    return std::vector<Literal>();
  return ArgumentsIn(unoptimized->GetReflection()->GetRepeatedMessage(*unoptimized, partitions, 0));
}

}  // namespace hlo
