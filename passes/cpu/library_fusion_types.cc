#include "passes/cpu/library_fusion_types.h"

#include <algorithm>
#include <cctype>

#include "lib/ops/opcode_groups.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

struct FusionTypeName {
  LibraryFusionType type;
  std::string_view text;
};

constexpr FusionTypeName kFusionTypeNames[] = {
    {LibraryFusionType::kDot, "dot"},
    {LibraryFusionType::kEltwise, "eltwise"},
    {LibraryFusionType::kIndividualConvolution, "individual_convolution"},
    {LibraryFusionType::kIndividualDot, "individual_dot"},
    {LibraryFusionType::kReduce, "reduce"},
};
constexpr std::string_view kFlagPrefix = "library_fusion_type_";

}  // namespace

bool LibraryFusionTypes::MayBegin(const Instruction& x) const {
  using enum LibraryFusionType;
  if (x.opcode() == Opcode::kDot) return Has(kDot) || Has(kIndividualDot);
  if (x.opcode() == Opcode::kConvolution) return Has(kIndividualConvolution);
  if (kReduceOps.Has(x.opcode())) return Has(kReduce);
  return Has(kEltwise) && HasTrait(x.opcode(), kElementwise);
}

bool LibraryFusionTypes::Grows(const Instruction& x) const {
  using enum LibraryFusionType;
  return !(x.opcode() == Opcode::kDot && Has(kIndividualDot)) &&
         !(x.opcode() == Opcode::kConvolution && Has(kIndividualConvolution));
}

absl::Status ParseOption(const OptionText& text, LibraryFusionTypes& out) {
  out = {};
  std::string list = text.value;
  absl::c_transform(list, list.begin(), [](unsigned char c) {
    return c == ',' ? ';' : static_cast<char>(std::tolower(c));
  });
  for (std::string_view word : Split(list, ';')) {
    word = Trim(word);
    if (word.empty()) continue;
    if (word.starts_with(kFlagPrefix)) word.remove_prefix(kFlagPrefix.size());
    const auto* const name =
        std::find_if(std::begin(kFusionTypeNames), std::end(kFusionTypeNames),
                     [&](const FusionTypeName& known) { return known.text == word; });
    if (name == std::end(kFusionTypeNames))
      return Error(text.loc, "option `{}` expects {}, found `{}`", text.name, OptionType(out),
                   word);
    out.Insert(name->type);
  }
  return absl::OkStatus();
}

std::string OptionValue(LibraryFusionTypes types) {
  std::string list;
  for (const FusionTypeName& name : kFusionTypeNames) {
    if (!types.Has(name.type)) continue;
    if (!list.empty()) list += ';';
    list += name.text;
  }
  return list;
}

std::string OptionType(LibraryFusionTypes) {
  std::string list = "a list of ";
  for (const FusionTypeName& name : kFusionTypeNames) {
    if (&name != kFusionTypeNames) list += '|';
    list += name.text;
  }
  return list;
}

}  // namespace hlo
