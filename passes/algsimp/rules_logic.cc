// Rules rooted at and, or, xor, not, compare and select.
#include <algorithm>

#include "lib/ir/compare.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

bool IsOfPreds(const Instruction* x) {
  return x->shape().IsArray() && x->shape().element_type() == ElementType::kPred;
}

// x && true  =>  x;  x & 0  =>  0
Instruction* AndConstant(Instruction* op, Rewriter&) {
  Instruction *x, *c;
  if (IsOfPreds(op) && Match(op, m::AndAnyOrder(m::Any(&x), m::One()))) return x;
  return Match(op, m::AndAnyOrder(m::Any(), m::Zero(&c))) ? c : nullptr;
}

// The constant c of `x < c`, in either spelling, for one s32 x.
Instruction* UpperBound(Instruction* compare, Instruction** x) {
  if (compare->opcode() != Opcode::kCompare) return nullptr;
  const auto direction = compare->attrs<CompareAttrs>().direction;
  int bound;
  if (direction == ComparisonDirection::kLt) {
    bound = 1;
  } else if (direction == ComparisonDirection::kGt) {
    bound = 0;
  } else {
    return nullptr;
  }
  Instruction* c = compare->operand(bound);
  *x = compare->operand(1 - bound);
  if (!c->IsConstant() || c->shape().element_type() != ElementType::kS32 ||
      !c->shape().IsEffectiveScalar() || c->literal().is_elided())
    return nullptr;
  return c;
}

// x < c1 && x < c2  =>  x < min(c1, c2)
Instruction* AndOfBounds(Instruction* op, Rewriter& rewriter) {
  Instruction *x, *y;
  const Instruction* c1 = UpperBound(op->operand(0), &x);
  const Instruction* c2 = UpperBound(op->operand(1), &y);
  if (c1 == nullptr || c2 == nullptr || x != y) return nullptr;
  const int64_t least = std::min(c1->literal().GetInt(), c2->literal().GetInt());
  Instruction* bound = rewriter.Constant(Literal::Scalar(ElementType::kS32, least));
  return rewriter.Compare(x, BroadcastLike(rewriter, bound, x), ComparisonDirection::kLt);
}

// x || true  =>  true;  x | 0  =>  x
Instruction* OrConstant(Instruction* op, Rewriter&) {
  Instruction *x, *c;
  if (IsOfPreds(op) && Match(op, m::OrAnyOrder(m::Any(), m::One(&c)))) return c;
  return Match(op, m::OrAnyOrder(m::Any(&x), m::Zero())) ? x : nullptr;
}

// x ^ x  =>  0, also for two instructions that are the same operation on the same operands
Instruction* XorSame(Instruction* op, Rewriter& rewriter) {
  const Instruction& a = *op->operand(0);
  const Instruction& b = *op->operand(1);
  const bool same =
      &a == &b || (a.opcode() == b.opcode() && SameOperation(a, b) && !a.HasSideEffect());
  return same ? rewriter.ZeroLike(op) : nullptr;
}

// x ^ 0  =>  x
Instruction* XorZero(Instruction* op, Rewriter&) {
  Instruction* x;
  return Match(op, m::XorAnyOrder(m::Any(&x), m::Zero())) ? x : nullptr;
}

Instruction* NotTwice(Instruction* op, Rewriter&) {
  Instruction* x;
  return Match(op, m::Not(m::Not(m::Any(&x)))) ? x : nullptr;
}

// ---- compare ----

ComparisonDirection DirectionOf(const Instruction* compare) {
  return compare->attrs<CompareAttrs>().direction;
}

Instruction* Answer(Rewriter& rewriter, const Instruction* compare, bool value) {
  return SplatOf(rewriter, ElementType::kPred, value ? 1 : 0, compare);
}

// x < 0  =>  false;  x >= 0  =>  true, for x that are not negative; the same with sides exchanged
// kExceptSpecials: exp(NaN) is NaN.
template <bool kVariances>
Instruction* CompareWithZero(Instruction* compare, Rewriter& rewriter) {
  const ComparisonDirection direction = DirectionOf(compare);
  // Zero stands right in x < 0 and x >= 0, left in 0 > x and 0 <= x.
  const bool less = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kGt;
  const int zero =
      direction == ComparisonDirection::kLt || direction == ComparisonDirection::kGe ? 1 : 0;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe ||
      !Match(compare->operand(zero), m::Zero()))
    return nullptr;
  const Instruction* x = compare->operand(1 - zero);
  const ElementType type = x->shape().element_type();
  if (!IsUnsigned(type) && !IsPred(type) && !IsNonNegative(x, kVariances)) return nullptr;
  return Answer(rewriter, compare, !less);
}

// x == x  =>  true, …, for integers
Instruction* CompareSame(Instruction* compare, Rewriter& rewriter) {
  if (compare->operand(0) != compare->operand(1) || !IsIntegral(compare->operand(0)))
    return nullptr;
  const ComparisonDirection direction = DirectionOf(compare);
  return Answer(rewriter, compare,
                direction == ComparisonDirection::kEq || direction == ComparisonDirection::kGe ||
                    direction == ComparisonDirection::kLe);
}

// p != false  =>  p;  p == true  =>  p
Instruction* ComparePred(Instruction* compare, Rewriter&) {
  if (!IsOfPreds(compare->operand(0))) return nullptr;
  const ComparisonDirection direction = DirectionOf(compare);
  for (int side = 0; side < 2; ++side) {
    Instruction* c = compare->operand(side);
    if ((direction == ComparisonDirection::kNe && Match(c, m::Zero())) ||
        (direction == ComparisonDirection::kEq && Match(c, m::One())))
      return compare->operand(1 - side);
  }
  return nullptr;
}

// select(a >= b, 1, 0) != 0  =>  a >= b
Instruction* CompareSelected(Instruction* compare, Rewriter&) {
  Instruction* inner;
  if (DirectionOf(compare) != ComparisonDirection::kNe ||
      !Match(compare, m::Compare(m::Select(m::Compare(&inner), m::One(), m::Zero()), m::Zero())) ||
      DirectionOf(inner) != ComparisonDirection::kGe)
    return nullptr;
  return SameDimensions(inner->shape(), compare->shape()) ? inner : nullptr;
}

// max(a, b) > a  =>  b > a;  a > min(a, b)  =>  a > b
Instruction* CompareWithExtreme(Instruction* compare, Rewriter& rewriter) {
  if (DirectionOf(compare) != ComparisonDirection::kGt) return nullptr;
  Instruction* l = compare->operand(0);
  Instruction* r = compare->operand(1);
  const bool is_max = l->opcode() == Opcode::kMaximum;
  if (!is_max && r->opcode() != Opcode::kMinimum) return nullptr;
  const Instruction* extreme = is_max ? l : r;
  const Instruction* same = is_max ? r : l;
  for (int i = 0; i < 2; ++i) {
    if (extreme->operand(i) != same) continue;
    (is_max ? l : r) = extreme->operand(1 - i);
    return rewriter.OpWithShape(Opcode::kCompare, compare->shape(), {l, r}, compare->attrs_ptr());
  }
  return nullptr;
}

// ---- select ----

bool SpreadsOverAll(const Instruction* pred, const Instruction* like) {
  return SameDimensions(pred->shape(), like->shape());
}

// select(p, y, y)  =>  y;  select(true, a, b)  =>  a;  select(false, a, b)  =>  b
Instruction* SelectKnown(Instruction* select, Rewriter&) {
  if (select->operand(1) == select->operand(2)) return select->operand(1);
  if (Match(select->operand(0), m::One())) return select->operand(1);
  if (Match(select->operand(0), m::Zero())) return select->operand(2);
  return nullptr;
}

// select(!p, a, b)  =>  select(p, b, a)
Instruction* SelectNot(Instruction* select, Rewriter& rewriter) {
  Instruction* p;
  if (!Match(select->operand(0), m::Not(m::Any(&p)))) return nullptr;
  return rewriter.Select(p, select->operand(2), select->operand(1));
}

// select(p, true, false)  =>  p;  select(p, false, true)  =>  !p;  select(a > b, a, b)
//     =>  a || b, …
Instruction* SelectPred(Instruction* select, Rewriter& rewriter) {
  Instruction* p = select->operand(0);
  if (!IsOfPreds(select) || !SpreadsOverAll(p, select)) return nullptr;
  Instruction* a = select->operand(1);
  Instruction* b = select->operand(2);
  if (Match(a, m::One()) && Match(b, m::Zero())) return p;
  if (Match(a, m::Zero()) && Match(b, m::One())) return rewriter.Not(p);
  if (p->opcode() != Opcode::kCompare || p->operand(0) != a || p->operand(1) != b) return nullptr;
  switch (DirectionOf(p)) {
    case ComparisonDirection::kGt:
    case ComparisonDirection::kGe: return rewriter.Or(a, b);
    case ComparisonDirection::kLt:
    case ComparisonDirection::kLe: return rewriter.And(a, b);
    case ComparisonDirection::kEq: return b;
    case ComparisonDirection::kNe: return a;
  }
  return nullptr;
}

// select(p, x, dynamic-update-slice(x, u, i))
//     =>  dynamic-update-slice(x, select(p', dynamic-slice(x, i), u), i)
Instruction* SelectUpdate(Instruction* select, Rewriter& rewriter) {
  for (int side = 1; side <= 2; ++side) {
    Instruction* update = select->operand(side);
    Instruction* x = select->operand(3 - side);
    if (update->opcode() != Opcode::kDynamicUpdateSlice || update->operand(0) != x ||
        !update->has_one_user() || update->operand_count() != 2 + update->shape().rank() ||
        !update->operand(update->operand_count() - 1)->shape().IsScalar())
      continue;
    Instruction* u = update->operand(1);
    std::vector<Instruction*> starts;
    for (int i = 2; i < update->operand_count(); ++i) starts.push_back(update->operand(i));
    Instruction* p = select->operand(0);
    if (!p->shape().IsScalar()) p = rewriter.DynamicSlice(p, starts, u->shape().dims());
    Instruction* old = rewriter.DynamicSlice(x, starts, u->shape().dims());
    Instruction* chosen = side == 1 ? rewriter.Select(p, u, old) : rewriter.Select(p, old, u);
    return rewriter.DynamicUpdateSlice(x, chosen, starts);
  }
  return nullptr;
}

constexpr Rule kLogicRules[] = {
    {"and-constant", Opcode::kAnd, kExact, AndConstant},
    {"and-of-bounds", Opcode::kAnd, kExact, AndOfBounds},
    {"or-constant", Opcode::kOr, kExact, OrConstant},
    {"xor-same", Opcode::kXor, kExact, XorSame},
    {"xor-zero", Opcode::kXor, kExact, XorZero},
    {"not-twice", Opcode::kNot, kExact, NotTwice},
    {"compare-with-zero", Opcode::kCompare, kExceptSpecials, CompareWithZero<false>},
    {"compare-same", Opcode::kCompare, kExact, CompareSame},
    {"compare-pred", Opcode::kCompare, kExact, ComparePred},
    {"compare-selected", Opcode::kCompare, kExact, CompareSelected},
    {"compare-with-extreme", Opcode::kCompare, kExceptSpecials, CompareWithExtreme},
    {"select-known", Opcode::kSelect, kExact, SelectKnown},
    {"select-not", Opcode::kSelect, kExact, SelectNot},
    {"select-pred", Opcode::kSelect, kExact, SelectPred},
    {"select-update", Opcode::kSelect, kExact, SelectUpdate},
};
constexpr Rule kVarianceCompareRules[] = {
    {"compare-variance-with-zero", Opcode::kCompare, kExceptSpecials, CompareWithZero<true>}};

}  // namespace

std::span<const Rule> LogicRules() { return kLogicRules; }
std::span<const Rule> VarianceCompareRules() { return kVarianceCompareRules; }

}  // namespace hlo::algsimp
