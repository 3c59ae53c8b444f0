#include "passes/util/lossless_convert.h"

#include "passes/util/holds_every.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMovesOnly = {Opcode::kBroadcast, Opcode::kReshape, Opcode::kTranspose};

bool SurvivesAs(ElementType type, const Literal& literal) {
  if (literal.is_elided()) return false;
  const absl::StatusOr<Literal> there = literal.Converted(type);
  if (!there.ok()) return false;
  const absl::StatusOr<Literal> back = there->Converted(literal.element_type());
  return back.ok() && *back == literal;
}

}  // namespace

bool IsLosslessIn(ElementType type, const Instruction& x) {
  if (!x.shape().IsArray()) return false;
  if (x.shape().element_type() == type) return true;
  if (x.opcode() == Opcode::kConvert) {
    return x.operand(0)->shape().element_type() == type &&
           HoldsEvery(x.shape().element_type(), type);
  }
  if (x.IsConstant()) return SurvivesAs(type, x.literal());
  return kMovesOnly.Has(x.opcode()) && IsLosslessIn(type, *x.operand(0));
}

}  // namespace hlo
