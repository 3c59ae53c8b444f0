// Messages as bytes, as text and as JSON.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/proto/proto.h"

namespace hlo::internal {

inline constexpr int kMostNesting = 1000;

// False: these bytes are no such message.
bool ParseBinary(std::string_view bytes, google::protobuf::Message& message);
// Whether there are bytes that no text has, and it does not begin as HLO text does.
bool LooksBinary(std::string_view bytes);
// The same message gives the same bytes. An error: a message can be too large.
absl::StatusOr<std::string> WriteMessage(const google::protobuf::Message& message, SerialForm form);

}  // namespace hlo::internal
