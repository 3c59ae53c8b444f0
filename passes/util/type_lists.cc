#include "passes/util/type_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/algorithm/container.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

absl::StatusOr<ElementType> TypeOf(std::string_view name, const OptionText& text) {
  const std::optional<ElementType> type = ElementTypeFromText(Trim(name));
  if (type && IsArrayType(*type)) return *type;
  return Error(text.loc, "option `{}`: `{}` is no element type", text.name, Trim(name));
}

std::vector<std::string_view> PartsOf(const OptionText& text) {
  return Trim(text.value).empty() ? std::vector<std::string_view>() : Split(text.value, ';');
}

}  // namespace

bool ElementTypeList::Has(ElementType type) const { return absl::c_linear_search(types, type); }

std::optional<ElementType> ElementTypePairs::Of(ElementType from) const {
  for (const auto& [first, second] : pairs) {
    if (first == from) return second;
  }
  return std::nullopt;
}

absl::Status ParseOption(const OptionText& text, ElementType& out) {
  ASSIGN_OR_RETURN(out, TypeOf(text.value, text));
  return absl::OkStatus();
}

absl::Status ParseOption(const OptionText& text, ElementTypeList& out) {
  out.types.clear();
  for (const std::string_view name : PartsOf(text)) {
    ASSIGN_OR_RETURN(out.types.emplace_back(), TypeOf(name, text));
  }
  return absl::OkStatus();
}

absl::Status ParseOption(const OptionText& text, ElementTypePairs& out) {
  out.pairs.clear();
  for (const std::string_view pair : PartsOf(text)) {
    const size_t colon = pair.find(':');
    if (colon == std::string_view::npos) {
      return Error(text.loc, "option `{}`: `{}` is no pair of types, expected `from:to`", text.name,
                   Trim(pair));
    }
    ASSIGN_OR_RETURN(const ElementType from, TypeOf(pair.substr(0, colon), text));
    ASSIGN_OR_RETURN(const ElementType to, TypeOf(pair.substr(colon + 1), text));
    if (from == to) return Error(text.loc, "option `{}`: `{}` changes nothing", text.name, pair);
    out.pairs.emplace_back(from, to);
  }
  return absl::OkStatus();
}

std::string OptionValue(ElementType type) { return std::string(Text(type)); }

std::string OptionValue(const ElementTypeList& list) {
  std::vector<std::string_view> names;
  for (const ElementType type : list.types) names.push_back(Text(type));
  return fmt::format("{}", fmt::join(names, ";"));
}

std::string OptionValue(const ElementTypePairs& list) {
  std::vector<std::string> names;
  for (const auto& [from, to] : list.pairs)
    names.push_back(fmt::format("{}:{}", Text(from), Text(to)));
  return fmt::format("{}", fmt::join(names, ";"));
}

std::string OptionType(ElementType) { return "type"; }
std::string OptionType(const ElementTypeList&) { return "types"; }
std::string OptionType(const ElementTypePairs&) { return "pairs of types"; }

}  // namespace hlo
