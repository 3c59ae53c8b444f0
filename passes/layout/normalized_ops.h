// Operations on arrays in memory order (lib/types/memory_order.h), as layout_normalization makes
// them: one rule for each opcode.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"
#include "lib/support/decision.h"

namespace hlo {

// Row-major, whatever else the layout says.
bool IsInMemoryOrder(Shape array);

// The values of one computation in memory order.
class NormalForms {
 public:
  explicit NormalForms(Computation* computation) : computation_(computation) {}

  // An array of the bytes of `value` in memory order: `value`, what it is a bitcast of, or a
  // bitcast of it, made once.
  Instruction* Of(Instruction* value);
  // `old` with other operands and attributes and the result in memory order. What is said of the
  // value of `old` (sharding, origin) is not said of it.
  Instruction* Clone(const Instruction& old, absl::Span<Instruction* const> operands,
                     AttrsPtr attrs);
  // Of for the arrays among the operands of `old`.
  std::vector<Instruction*> Operands(const Instruction& old);

 private:
  Computation* computation_;
  absl::flat_hash_map<const Instruction*, Instruction*> made_;
};

struct NormalizedOp {
  // Whether the rule is for this instruction: static arrays, layouts that fit.
  Decision (*allows)(const Instruction& instruction);
  // The operation in memory order: the bytes of its result, or of the elements of its result, are
  // those of `old`.
  Instruction* (*make)(const Instruction& old, NormalForms& forms);
};

// The rule for an opcode, if there is one.
const NormalizedOp* NormalizedOpFor(Opcode opcode);

}  // namespace hlo
