#include "passes/util/lossless_convert.h"

namespace hlo {
namespace {

struct FloatDigits {
  ElementType type;
  int digits;
};
constexpr FloatDigits kFloatDigits[] = {{ElementType::kBF16, 8},
                                        {ElementType::kF16, 11},
                                        {ElementType::kF32, 24},
                                        {ElementType::kF64, 53}};

// How many binary digits a type holds exactly; 0 where this file does not know it.
int Digits(ElementType type) {
  if (IsInteger(type)) return BitWidth(type) - (IsSigned(type) ? 1 : 0);
  for (const FloatDigits& row : kFloatDigits) {
    if (row.type == type) return row.digits;
  }
  return 0;
}

constexpr OpcodeSet kMovesOnly = {Opcode::kBroadcast, Opcode::kReshape, Opcode::kTranspose};

bool SurvivesAs(ElementType type, const Literal& literal) {
  if (literal.is_elided()) return false;
  const absl::StatusOr<Literal> there = literal.Converted(type);
  if (!there.ok()) return false;
  const absl::StatusOr<Literal> back = there->Converted(literal.element_type());
  return back.ok() && *back == literal;
}

}  // namespace

bool HoldsEvery(ElementType to, ElementType from) {
  if (to == from) return true;
  if (Digits(to) == 0 || Digits(from) == 0 || Digits(from) > Digits(to)) return false;
  if (IsFloat(from)) return IsFloat(to) && BitWidth(from) < BitWidth(to);
  return IsFloat(to) || IsSigned(to) || IsUnsigned(from);
}

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
