// Element types as options: one, or several separated by `;`, and pairs.
//
//   struct Options { ElementType type = ElementType::kF32; … };           pass{type=f32}
//   struct Options { ElementTypeList types{{ElementType::kF32}}; … };     pass{types=f32;bf16}
//   struct Options { ElementTypePairs types; … };                         pass{types=bf16:f32}
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/pass.h"

namespace hlo {

struct ElementTypeList {
  std::vector<ElementType> types;
  bool Has(ElementType type) const;
};

struct ElementTypePairs {
  std::vector<std::pair<ElementType, ElementType>> pairs;  // of two different types each
  // What follows `from`.
  std::optional<ElementType> Of(ElementType from) const;
};

absl::Status ParseOption(const OptionText& text, ElementType& out);  // of arrays
absl::Status ParseOption(const OptionText& text, ElementTypeList& out);
absl::Status ParseOption(const OptionText& text, ElementTypePairs& out);
std::string OptionValue(ElementType type);
std::string OptionValue(const ElementTypeList& list);
std::string OptionValue(const ElementTypePairs& list);
std::string OptionType(ElementType);
std::string OptionType(const ElementTypeList&);
std::string OptionType(const ElementTypePairs&);

}  // namespace hlo
