#include "lib/analysis/region.h"

#include <fmt/core.h>

#include "lib/analysis/call_graph.h"
#include "lib/match/pattern.h"

namespace hlo {

std::optional<RegionOperation> OperationOf(const Computation& region) {
  const Instruction* const root = region.root();
  if (region.parameter_count() != 2 || root->operand_count() != 2) return std::nullopt;
  const Instruction* const a = root->operand(0);
  const Instruction* const b = root->operand(1);
  if (a == b || a->opcode() != Opcode::kParameter || b->opcode() != Opcode::kParameter)
    return std::nullopt;
  return RegionOperation{root->opcode(), a->parameter_number() == 1};
}

std::optional<Opcode> CombinerOpcode(const Computation& combiner) {
  const std::optional<RegionOperation> operation = OperationOf(combiner);
  if (!operation || !IsCommutative(operation->opcode)) return std::nullopt;
  return operation->opcode;
}

bool IsIdempotent(Opcode opcode) {
  return opcode == Opcode::kMaximum || opcode == Opcode::kMinimum || opcode == Opcode::kAnd ||
         opcode == Opcode::kOr;
}

std::optional<Literal> IdentityOf(Opcode opcode, ElementType type) {
  if (opcode == Opcode::kAdd) return Literal::Scalar(type, IsFloat(type) ? -0.0 : 0.0);
  if (opcode == Opcode::kMultiply) return Literal::One(type);
  if (opcode == Opcode::kMaximum && !IsComplex(type)) return Literal::MinValue(type);
  if (opcode == Opcode::kMinimum && !IsComplex(type)) return Literal::MaxValue(type);
  if (opcode == Opcode::kOr || opcode == Opcode::kXor) return Literal::Zero(type);
  if (opcode == Opcode::kAnd && IsPred(type)) return Literal::One(type);
  if (opcode == Opcode::kAnd && IsInteger(type)) return Literal::Scalar(type, int64_t{-1});
  return std::nullopt;
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

std::string RegionsToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    if (computation->is_fusion() || DirectContext(*computation) != CallContext::kEmbedded) continue;
    text += fmt::format("{}: ", computation->name());
    const std::optional<RegionOperation> operation = OperationOf(*computation);
    if (!operation) {
      text += "no single operation\n";
      continue;
    }
    const Opcode opcode = operation->opcode;
    text += Text(opcode);
    if (operation->swapped && !IsCommutative(opcode)) text += ", swapped";
    if (IsCommutative(opcode)) text += ", commutative";
    if (HasTrait(opcode, kAssociative)) text += ", associative";
    if (IsIdempotent(opcode)) text += ", idempotent";
    const Shape shape = computation->root()->shape();
    if (shape.IsArray() && IsCommutative(opcode)) {
      if (const std::optional<Literal> identity = IdentityOf(opcode, shape.element_type()))
        text += fmt::format(", identity {}", identity->ToString());
    }
    text += "\n";
  }
  return text;
}

}  // namespace hlo
