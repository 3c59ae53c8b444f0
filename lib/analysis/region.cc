#include "lib/analysis/region.h"

#include <fmt/core.h>

#include "lib/analysis/call_graph.h"
#include "lib/match/pattern.h"

namespace hlo {
namespace {

// A region whose results are all taken from the one or the other side, by one comparison.
bool OnlyChooses(const Computation& region, int count) {
  const Instruction* const root = region.root();
  if (root->opcode() != Opcode::kTuple || root->operand_count() != count) return false;
  const Instruction* const decides =
      root->operand(0)->operand_count() == 3 ? root->operand(0)->operand(0) : nullptr;
  for (int i = 0; i < count; ++i) {
    const Instruction* const select = root->operand(i);
    if (select->opcode() != Opcode::kSelect || select->operand(0) != decides) return false;
    const bool from_first = root->operand(0)->operand(1) == region.parameter(0);
    const int on_true = from_first ? i : i + count, on_false = from_first ? i + count : i;
    if (select->operand(1) != region.parameter(on_true) ||
        select->operand(2) != region.parameter(on_false))
      return false;
  }
  return true;
}

// Whether result `i` of the region is one operation of its two values, which `init` leaves alone.
bool KeepsWith(const Computation& region, int i, int count, const Instruction& init) {
  const Instruction* const result = count == 1 ? region.root() : region.root()->operand(i);
  if (result->operand_count() != 2 || !IsCommutative(result->opcode())) return false;
  const Instruction *const a = region.parameter(i), *const b = region.parameter(i + count);
  const bool reads_both = (result->operand(0) == a && result->operand(1) == b) ||
                          (result->operand(0) == b && result->operand(1) == a);
  return reads_both && (IsIdempotent(result->opcode()) || IsIdentityOf(result->opcode(), init));
}

}  // namespace

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
  if (opcode == Opcode::kAdd) {
    Literal zero = Literal::Scalar(type, IsFloat(type) ? -0.0 : 0.0);
    // Scales have none.
    if (IsFloat(type) && zero.GetDouble() != 0) return std::nullopt;
    return zero;
  }
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

bool MayStartAgain(const Instruction& reduce) {
  const int count = reduce.operand_count() / 2;
  const Computation& region = *reduce.to_apply();
  if (count > 1 && OnlyChooses(region, count)) return true;
  if (count > 1 && region.root()->opcode() != Opcode::kTuple) return false;
  for (int i = 0; i < count; ++i) {
    if (!KeepsWith(region, i, count, *reduce.operand(count + i))) return false;
  }
  return true;
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
