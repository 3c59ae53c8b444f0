// Modules as messages and as the bytes of files: `HloModuleProto` of XLA.
//
// A module read from a message is printed and its text parsed again by ReadSerialized(): what a
// text may not say, a message may not say either, and every complaint has a line to point at.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

// Makes a module of a text. A message holds as modules what a text keeps as texts (recovery
// tables), and the parser is above this box, so the caller brings it.
using TextReader = absl::StatusOr<std::unique_ptr<Module>> (*)(std::string_view text);

// An `HloModuleProto`. Values of elided constants are not there: use such a module's text.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> ToProto(const Module& module,
                                                                   TextReader read);
// The module of an `HloModuleProto`, unverified. Errors name the computation and the instruction.
absl::StatusOr<std::unique_ptr<Module>> FromProto(const google::protobuf::Message& proto);

enum class SerialForm { kBinary, kText, kJson };
// The module inside an `HloProto`, as XLA's tools write files.
absl::StatusOr<std::string> Serialize(const Module& module, SerialForm form, TextReader read);
// Whether the bytes of a file are a message, binary or as text, rather than HLO text.
bool IsSerialized(std::string_view bytes);
// The module of an `HloProto`, `HloModuleProto` or `HloSnapshot`, binary or as text, printed as HLO
// text that reads back as it.
absl::StatusOr<std::string> TextOfSerialized(std::string_view bytes);

}  // namespace hlo
