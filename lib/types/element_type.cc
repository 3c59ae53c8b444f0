// lib/types/element_type.cc
//
// Look-up of element types by text and by proto number.
#include "lib/types/element_type.h"

namespace hlo {

std::optional<ElementType> ElementTypeFromText(std::string_view text) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    if (kElementTypeInfos[i].text != text) continue;
    const auto type = static_cast<ElementType>(i);
    if (type == ElementType::kTuple || type == ElementType::kBuffer) return std::nullopt;
    return type;
  }
  return std::nullopt;
}

std::optional<ElementType> ElementTypeFromProto(int number) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    if (kElementTypeInfos[i].proto_number == number) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

}  // namespace hlo
