// What random programs hold: how often each opcode meets each element type. The opcode tables say
// which pairs there are; those that no program holds are printed with their reason, or as a hole.
//
//   Census census;
//   for (…) census.Add(RandomProgram(random));
//   fmt::print("{}", census.ToText());
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"
#include "lib/ops/ops.h"

namespace hlo {

class Census {
 public:
  // The text of a module; what does not parse counts nothing.
  void Add(std::string_view text);

  bool Has(Opcode opcode) const;
  // Element types that an opcode takes and no program had, without those that have a reason.
  std::vector<ElementType> Holes(Opcode opcode) const;
  // A line for each opcode: how often, how many types; then the types that are missing.
  std::string ToText() const;

 private:
  int64_t Count(Opcode opcode, ElementType type) const {
    return counts_[static_cast<size_t>(opcode)][static_cast<size_t>(type)];
  }

  int64_t programs_ = 0;
  std::array<std::array<int64_t, kElementTypeCount>, kOpcodeCount> counts_ = {};
};

}  // namespace hlo
