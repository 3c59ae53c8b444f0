// g++ 12 takes the unused inline storage of default attribute structs for uninitialized reads.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "lib/ops/ops.h"

#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/ops/shape_rules.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

template <class... Names>
constexpr OperandSpec MakeSpec(int min, int max, Names... names) {
  OperandSpec spec{min, max, {}, 0};
  ((spec.names[static_cast<size_t>(spec.name_count++)] = names), ...);
  return spec;
}
template <class... Names>
constexpr OperandSpec Args(Names... names) {
  return MakeSpec(sizeof...(Names), sizeof...(Names), std::string_view(names)...);
}
template <class... Names>
constexpr OperandSpec AtLeast(int min, Names... names) {
  return MakeSpec(min, -1, std::string_view(names)...);
}
template <class... Names>
constexpr OperandSpec Variadic(Names... names) {
  return MakeSpec(0, -1, std::string_view(names)...);
}
constexpr CallSpec None() { return {}; }
constexpr CallSpec Calls(std::string_view a) { return {{a, {}}, 1, false}; }
constexpr CallSpec Calls(std::string_view a, std::string_view b) { return {{a, b}, 2, false}; }
constexpr CallSpec CallList(std::string_view a) { return {{a, {}}, 0, true}; }

template <class A>
AttrsPtr DefaultAttrs() {
  if constexpr (std::is_same_v<A, NoAttrs>) {
    return AttrsPtr();
  } else {
    static const AttrsPtr kDefault = AttrsPtr::Make(A());  // immutable: shared by all
    return kDefault;
  }
}

constexpr std::array<OpInfo, kOpcodeCount> kOps = {{
#define HLO_OP(Name, text, operands, calls, attributes, shape_rule, types, cost, traits, summary) \
  {#Name,       text,  operands, calls,  &AttrsInfoOf<attributes>, &DefaultAttrs<attributes>,     \
   &shape_rule, types, traits,   summary},
#include "lib/ops/ops.def"
}};
static_assert(std::is_sorted(kOps.begin(), kOps.end(),
                             [](const OpInfo& a, const OpInfo& b) { return a.text < b.text; }),
              "rows of ops.def are sorted by text");

}  // namespace

const OpInfo& Info(Opcode opcode) { return kOps[static_cast<size_t>(opcode)]; }

std::span<const OpInfo> AllOpInfos() { return kOps; }

std::optional<Opcode> OpcodeFromText(std::string_view text) {
  const auto it =
      std::lower_bound(kOps.begin(), kOps.end(), text,
                       [](const OpInfo& info, std::string_view t) { return info.text < t; });
  if (it == kOps.end() || it->text != text) return std::nullopt;
  return static_cast<Opcode>(it - kOps.begin());
}

std::string SuggestOpcode(std::string_view text) {
  std::array<std::string_view, kOpcodeCount> texts;
  for (size_t i = 0; i < kOps.size(); ++i) texts[i] = kOps[i].text;
  return DidYouMean(text, texts);
}

std::string OperandName(Opcode opcode, int i) {
  const OperandSpec& spec = Info(opcode).operands;
  if (spec.name_count == 0) return fmt::format("operand {}", i);
  if (i < spec.name_count - 1 || (i < spec.name_count && spec.max >= 0)) {
    return std::string(spec.names[static_cast<size_t>(i)]);
  }
  return fmt::format("{}[{}]", spec.names[static_cast<size_t>(spec.name_count - 1)],
                     i - (spec.name_count - 1));
}

}  // namespace hlo
