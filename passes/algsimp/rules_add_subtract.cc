// Rules rooted at add and subtract. Canonical form: constants on the right, subtracting a constant
// is adding its negation.
#include <cmath>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// x + 0  =>  x
// kExceptSpecials: -0 + 0 is +0, the rewrite leaves -0.
Instruction* AddZero(Instruction* add, Rewriter&) {
  Instruction* x;
  return Match(add, m::AddAnyOrder(m::Any(&x), m::Zero())) ? x : nullptr;
}

// c + x  =>  x + c
Instruction* AddConstantLeft(Instruction* add, Rewriter& rewriter) {
  Instruction* c = add->operand(0);
  Instruction* x = add->operand(1);
  if (!c->IsConstant() || x->IsConstant()) return nullptr;
  return rewriter.Add(x, c);
}

// (x + c1) + c2  =>  x + (c1 + c2)
// Broadcast constants are taken only where they stand right: nothing moves them there.
Instruction* AddConstants(Instruction* add, Rewriter& rewriter) {
  Instruction *x, *c1, *c2;
  const auto other = m::Any(&x).Where(IsNoConstant);
  if (!Match(add, m::Add(m::Add(other, m::Constant(&c1)), m::Constant(&c2))) &&
      !Match(add, m::Add(m::Add(other, m::Broadcast(&c1, m::ConstantScalar())),
                         m::Broadcast(&c2, m::ConstantScalar()))))
    return nullptr;
  Instruction* sum = CombineConstants(rewriter, Opcode::kAdd, c1, c2);
  return sum == nullptr ? nullptr : rewriter.Add(x, sum);
}

// (c1 - x) + c2  =>  (c1 + c2) - x
Instruction* AddToDifference(Instruction* add, Rewriter& rewriter) {
  Instruction *x, *c1, *c2;
  if (!Match(add, m::Add(m::Subtract(m::Any(&c1), m::Any(&x).Where(IsNoConstant)), m::Any(&c2))))
    return nullptr;
  if (!IsConstantOrSplat(c1) || !IsConstantOrSplat(c2)) return nullptr;
  Instruction* sum = CombineConstants(rewriter, Opcode::kAdd, c1, c2);
  return sum == nullptr ? nullptr : rewriter.Subtract(sum, x);
}

// x + (y - x)  =>  y
Instruction* AddDifference(Instruction* add, Rewriter&) {
  Instruction *x, *y;
  return Match(add, m::AddAnyOrder(m::Any(&x), m::Subtract(m::Any(&y), m::Same(&x)))) ||
                 (Match(add, m::Add(m::Subtract(m::Any(&y), m::Any(&x)), m::Same(&x))))
             ? y
             : nullptr;
}
Instruction* AddDifferenceInt(Instruction* add, Rewriter& rewriter) {
  return IsIntegral(add) ? AddDifference(add, rewriter) : nullptr;
}

// x + dynamic-update-slice(0, u, i)  =>  dynamic-update-slice(x, dynamic-slice(x, i) + u, i)
Instruction* AddUpdate(Instruction* add, Rewriter& rewriter) {
  for (int side = 1; side >= 0; --side) {
    Instruction* update = add->operand(side);
    Instruction* x = add->operand(1 - side);
    if (update->opcode() != Opcode::kDynamicUpdateSlice ||
        !Match(update->operand(0), m::Broadcast(m::Zero())) ||
        update->operand_count() != 2 + update->shape().rank() ||
        !update->operand(update->operand_count() - 1)->shape().IsScalar())
      continue;
    std::vector<Instruction*> starts;
    for (int i = 2; i < update->operand_count(); ++i) starts.push_back(update->operand(i));
    Instruction* u = update->operand(1);
    Instruction* old = rewriter.DynamicSlice(x, starts, u->shape().dims());
    return rewriter.DynamicUpdateSlice(x, rewriter.Add(old, u), starts);
  }
  return nullptr;
}

bool IsPowerOfTwoFloat(Instruction* c) {
  const Instruction* scalar = ScalarConstant(c);
  if (scalar == nullptr || !IsFloating(scalar)) return false;
  const double value = scalar->literal().GetDouble();
  int exponent;
  return std::isfinite(value) && value != 0 && std::fabs(std::frexp(value, &exponent)) == 0.5;
}

// a*c + b*c  =>  (a + b)*c
Instruction* AddProductsOf(Instruction* add, Rewriter& rewriter,
                           bool (*is_factor)(Instruction* c)) {
  Instruction* l = add->operand(0);
  Instruction* r = add->operand(1);
  if (l->opcode() != Opcode::kMultiply || r->opcode() != Opcode::kMultiply || !l->has_one_user() ||
      !r->has_one_user())
    return nullptr;
  for (int i = 1; i >= 0; --i) {
    for (int k = 0; k < 2; ++k) {
      Instruction* c = l->operand(i);
      if (c != r->operand(k) || !is_factor(c)) continue;
      return rewriter.Multiply(rewriter.Add(l->operand(1 - i), r->operand(1 - k)), c);
    }
  }
  return nullptr;
}
// Multiplying by a power of two moves exponents; integers wrap around either way.
Instruction* AddProducts(Instruction* add, Rewriter& rewriter) {
  return AddProductsOf(add, rewriter,
                       [](Instruction* c) { return IsIntegral(c) || IsPowerOfTwoFloat(c); });
}
Instruction* AddProductsReal(Instruction* add, Rewriter& rewriter) {
  return AddProductsOf(add, rewriter, [](Instruction*) { return true; });
}

// x - 0  =>  x
Instruction* SubtractZero(Instruction* subtract, Rewriter&) {
  return Match(subtract->operand(1), m::Zero()) ? subtract->operand(0) : nullptr;
}

// x - x  =>  0
Instruction* SubtractSame(Instruction* subtract, Rewriter& rewriter) {
  if (subtract->operand(0) != subtract->operand(1)) return nullptr;
  return rewriter.ZeroLike(subtract);
}
Instruction* SubtractSameInt(Instruction* subtract, Rewriter& rewriter) {
  return IsIntegral(subtract) ? SubtractSame(subtract, rewriter) : nullptr;
}

// x - c  =>  x + (-c)
Instruction* SubtractConstant(Instruction* subtract, Rewriter& rewriter) {
  Instruction* x = subtract->operand(0);
  Instruction* c = subtract->operand(1);
  if (x->IsConstant()) return nullptr;
  if (c->IsConstant()) return rewriter.Add(x, rewriter.Negate(c));
  if (c->opcode() != Opcode::kBroadcast || !c->operand(0)->IsConstant()) return nullptr;
  return rewriter.Add(x, BroadcastAs(rewriter, rewriter.Negate(c->operand(0)), c));
}

// x - (x - y)  =>  y;  x - (x + y)  =>  -y;  (x + y) - x  =>  y
Instruction* SubtractInverse(Instruction* subtract, Rewriter& rewriter) {
  Instruction *x, *y;
  if (Match(subtract, m::Subtract(m::Any(&x), m::Subtract(m::Same(&x), m::Any(&y))))) return y;
  if (Match(subtract, m::Subtract(m::Any(&x), m::Add(m::Same(&x), m::Any(&y)))) ||
      Match(subtract, m::Subtract(m::Any(&x), m::Add(m::Any(&y), m::Same(&x)))))
    return rewriter.Negate(y);
  if (Match(subtract, m::Subtract(m::Add(m::Any(&x), m::Any(&y)), m::Same(&x)))) return y;
  if (Match(subtract, m::Subtract(m::Add(m::Any(&y), m::Any(&x)), m::Same(&x)))) return y;
  return nullptr;
}
Instruction* SubtractInverseInt(Instruction* subtract, Rewriter& rewriter) {
  return IsIntegral(subtract) ? SubtractInverse(subtract, rewriter) : nullptr;
}

constexpr Rule kAddSubtractRules[] = {
    {"add-zero", Opcode::kAdd, kExceptSpecials, AddZero},
    {"add-constant-left", Opcode::kAdd, kExact, AddConstantLeft},
    {"add-constants", Opcode::kAdd, kReassociate, AddConstants},
    {"add-to-difference", Opcode::kAdd, kReassociate, AddToDifference},
    {"add-difference", Opcode::kAdd, kExact, AddDifferenceInt},
    {"add-update", Opcode::kAdd, kExceptSpecials, AddUpdate},
    {"add-products", Opcode::kAdd, kExceptSpecials, AddProducts},
    {"subtract-zero", Opcode::kSubtract, kExact, SubtractZero},
    {"subtract-same", Opcode::kSubtract, kExact, SubtractSameInt},
    {"subtract-constant", Opcode::kSubtract, kExact, SubtractConstant},
    {"subtract-inverse", Opcode::kSubtract, kExact, SubtractInverseInt},
};

constexpr Rule kFastAddRules[] = {
    {"add-difference-fast", Opcode::kAdd, kReassociate, AddDifference},
    {"subtract-same-fast", Opcode::kSubtract, kExceptSpecials, SubtractSame},
    {"subtract-inverse-fast", Opcode::kSubtract, kReassociate, SubtractInverse},
};
constexpr Rule kRealNumberRules[] = {
    {"add-products-real", Opcode::kAdd, kReassociate, AddProductsReal},
};

}  // namespace

std::span<const Rule> AddSubtractRules() { return kAddSubtractRules; }
std::span<const Rule> FastAddRules() { return kFastAddRules; }
std::span<const Rule> RealNumberRules() { return kRealNumberRules; }

}  // namespace hlo::algsimp
