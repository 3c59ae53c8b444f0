// lib/linalg/ffi_attributes.h
//
// The attributes of a typed custom call, which stand in its backend_config as a dictionary:
// {mode = 83 : ui8, left = true, low = 1 : i32}.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::linalg {

// Names and the text of the values, without their types, in order. An empty text has none.
using FfiAttributes = std::vector<std::pair<std::string_view, std::string_view>>;

// Refers to `text`. An error (without a place) where it is no dictionary.
absl::StatusOr<FfiAttributes> ParseFfiAttributes(std::string_view text);

}  // namespace hlo::linalg
