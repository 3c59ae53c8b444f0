// Opcodes as an option, separated by `;`; `all` is every opcode.
//
//   struct Options { OpcodeList opcodes{{Opcode::kDot}}; … };             pass{opcodes=dot;add}
#pragma once

#include <string>
#include <vector>

#include "lib/ops/opcode_set.h"
#include "passes/pass.h"

namespace hlo {

struct OpcodeList {
  std::vector<Opcode> opcodes;
  bool empty() const { return opcodes.empty(); }
  OpcodeSet set() const;
};

absl::Status ParseOption(const OptionText& text, OpcodeList& out);
std::string OptionValue(const OpcodeList& list);
std::string OptionType(const OpcodeList&);

}  // namespace hlo
