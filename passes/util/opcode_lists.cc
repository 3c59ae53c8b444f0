#include "passes/util/opcode_lists.h"

#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

OpcodeSet OpcodeList::set() const {
  OpcodeSet set;
  for (const Opcode opcode : opcodes) set.Insert(opcode);
  return set;
}

absl::Status ParseOption(const OptionText& text, OpcodeList& out) {
  out.opcodes.clear();
  for (const std::string_view word : Split(text.value, ';')) {
    const std::string_view name = Trim(word);
    if (name.empty()) continue;
    if (name == "all") {
      for (int i = 0; i < kOpcodeCount; ++i) out.opcodes.push_back(static_cast<Opcode>(i));
      continue;
    }
    const std::optional<Opcode> opcode = OpcodeFromText(name);
    if (!opcode) {
      return Error(text.loc, "option `{}`: `{}` is no opcode{}", text.name, name,
                   SuggestOpcode(name));
    }
    out.opcodes.push_back(*opcode);
  }
  return absl::OkStatus();
}

std::string OptionValue(const OpcodeList& list) {
  std::string names;
  for (const Opcode opcode : list.opcodes)
    names += (names.empty() ? "" : ";") + std::string(Text(opcode));
  return names;
}

std::string OptionType(const OpcodeList&) { return "opcodes"; }

}  // namespace hlo
