// The text of an MLIR attribute dictionary, which is the backend_config of some custom calls:
//
//   {name = "add", grid_x = 4 : i32, output_indices = [1, 2], "quoted name" = {…}, flag}
//
// Types of integers are read over. What is no string, integer or list has no value here but its
// text: dictionaries, floats, `array<i64: 1, 2>`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/support/source.h"

namespace hlo {

struct AttributeValue {
  enum class Kind : uint8_t { kString, kInteger, kList, kOther };
  Kind kind = Kind::kOther;
  std::string text;  // of a string what is between the quotes, without escapes
  int64_t number = 0;
  std::vector<AttributeValue> items;
  SourceLoc loc;
};

struct NamedAttribute {
  std::string name;
  AttributeValue value;
  SourceLoc loc;
};

// In the order of the text; no two have the same name. Places count from the start of the text.
absl::StatusOr<std::vector<NamedAttribute>> ParseAttributeDictionary(std::string_view text);

}  // namespace hlo
