#include "passes/analysis/combiner.h"

#include "lib/match/pattern.h"

namespace hlo {

std::optional<Opcode> CombinerOpcode(const Computation& combiner) {
  const Instruction* root = combiner.root();
  if (root->operand_count() != 2 || !IsCommutative(root->opcode()) ||
      root->operand(0)->opcode() != Opcode::kParameter ||
      root->operand(1)->opcode() != Opcode::kParameter || root->operand(0) == root->operand(1))
    return std::nullopt;
  return root->opcode();
}

bool IsIdentityOf(Opcode opcode, const Instruction& init) {
  const Literal* value = m::internal::SplatSource(&init);
  if (value == nullptr || value->element_count() != 1) return false;
  const ElementType type = value->element_type();
  if (opcode == Opcode::kAdd || opcode == Opcode::kOr || opcode == Opcode::kXor)
    return value->IsAll(0);
  if (opcode == Opcode::kMultiply) return value->IsAll(1);
  if (opcode == Opcode::kMaximum && !IsComplex(type))
    return value->ElementAt(0) == Literal::MinValue(type);
  if (opcode == Opcode::kMinimum && !IsComplex(type))
    return value->ElementAt(0) == Literal::MaxValue(type);
  return opcode == Opcode::kAnd && Match(&init, m::AllOnes());
}

bool IsIdempotent(Opcode opcode) {
  return opcode == Opcode::kMaximum || opcode == Opcode::kMinimum || opcode == Opcode::kAnd ||
         opcode == Opcode::kOr;
}

}  // namespace hlo
