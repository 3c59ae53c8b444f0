// Values as messages: single ones, and the arguments that snapshots keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/proto/proto.h"
#include "lib/types/literal.h"

namespace hlo {

// A `LiteralProto`.
absl::StatusOr<std::string> SerializeLiteral(const Literal& literal, SerialForm form);
// The value of a `LiteralProto`, binary or as text.
absl::StatusOr<Literal> LiteralOfSerialized(std::string_view bytes);

// The arguments that an `HloSnapshot` holds, or an `HloUnoptimizedSnapshot` for its first
// partition; binary. None where the bytes are something else, or nothing was recorded.
absl::StatusOr<std::vector<Literal>> RecordedArguments(std::string_view bytes);

}  // namespace hlo
