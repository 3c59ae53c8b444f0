// What a back end computes in a narrow float (bf16) besides the wide one (f32).
//
//   narrow   opcodes that take and give narrow values           add;subtract
//   mixed    of these, the ones that take both at once          dot;all-reduce
//   rounded  opcodes that round wide operands themselves: giving them narrow ones changes nothing
//
// Lists are opcodes separated by `;`, or `all`. What only passes values on is always supported.
#pragma once

#include "lib/ir/instruction.h"
#include "passes/util/opcode_lists.h"

namespace hlo {

struct FloatSupportOptions {
  OpcodeList narrow;
  OpcodeList mixed;
  OpcodeList rounded;

  HLO_OPTIONS(FloatSupportOptions, narrow, mixed, rounded)
};

class FloatSupport {
 public:
  FloatSupport() = default;
  explicit FloatSupport(const FloatSupportOptions& options);

  ElementType low() const { return ElementType::kBF16; }
  ElementType high() const { return ElementType::kF32; }
  bool TakesNarrow(const Instruction& instruction) const;
  bool GivesNarrow(const Instruction& instruction) const { return TakesNarrow(instruction); }
  bool Mixes(const Instruction& instruction) const;
  bool RoundsOperands(const Instruction& instruction) const {
    return rounded_.Has(instruction.opcode());
  }

 private:
  OpcodeSet narrow_;
  OpcodeSet mixed_;
  OpcodeSet rounded_;
};

// Whether operand `i` reaches the result as it is, so that a narrow result needs a narrow operand
// only.
bool KeepsPrecision(const Instruction& instruction, int i);

}  // namespace hlo
