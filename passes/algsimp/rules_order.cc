// Rules rooted at maximum, minimum and clamp.
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

bool IsSplatOf(const Instruction* x, const Literal& value) {
  while (x->opcode() == Opcode::kBroadcast) x = x->operand(0);
  return x->IsConstant() && x->literal().IsUniform() && x->literal().ElementAt(0) == value;
}

// max(x, x)  =>  x;  max(max(x, y), y)  =>  max(x, y);  max(y, max(x, y))  =>  max(y, x)
Instruction* ExtremeTwice(Instruction* op, Rewriter& rewriter) {
  Instruction* l = op->operand(0);
  Instruction* r = op->operand(1);
  if (l == r) return l;
  if (l->opcode() == op->opcode() && (l->operand(0) == r || l->operand(1) == r)) return l;
  if (r->opcode() == op->opcode()) {
    if (r->operand(0) == l) return r;
    if (r->operand(1) == l) return rewriter.Op(op->opcode(), {l, r->operand(0)});
  }
  return nullptr;
}

// max(x, lowest)  =>  x
// The constant may be of another float type than x.
Instruction* ExtremeOfLimit(Instruction* op, Rewriter&) {
  for (int side = 0; side < 2; ++side) {
    const Instruction* c = op->operand(side);
    const ElementType type = c->shape().element_type();
    const Literal limit =
        op->opcode() == Opcode::kMaximum ? Literal::MinValue(type) : Literal::MaxValue(type);
    Instruction* x = op->operand(1 - side);
    if (Compatible(x->shape(), op->shape()) && IsSplatOf(c, limit)) return x;
  }
  return nullptr;
}
Instruction* ExtremeOfLimitInt(Instruction* op, Rewriter& rewriter) {
  return IsIntegral(op) ? ExtremeOfLimit(op, rewriter) : nullptr;
}
Instruction* ExtremeOfLimitFloat(Instruction* op, Rewriter& rewriter) {
  return IsFloating(op) ? ExtremeOfLimit(op, rewriter) : nullptr;
}

// max(lo, min(x, hi))  =>  clamp(lo, x, hi), for broadcast constants lo < hi
Instruction* ExtremesToClamp(Instruction* op, Rewriter& rewriter) {
  if (IsComplex(op->shape().element_type())) return nullptr;
  const bool is_max = op->opcode() == Opcode::kMaximum;
  const Opcode inner_opcode = is_max ? Opcode::kMinimum : Opcode::kMaximum;
  for (int side = 0; side < 2; ++side) {
    Instruction* outer_bound = op->operand(side);
    Instruction* inner = op->operand(1 - side);
    if (outer_bound->opcode() != Opcode::kBroadcast || inner->opcode() != inner_opcode) continue;
    for (int k = 1; k >= 0; --k) {
      Instruction* inner_bound = inner->operand(k);
      if (inner_bound->opcode() != Opcode::kBroadcast) continue;
      Instruction* low = is_max ? outer_bound : inner_bound;
      Instruction* high = is_max ? inner_bound : outer_bound;
      const Instruction* a = ScalarConstant(low);
      const Instruction* b = ScalarConstant(high);
      if (a == nullptr || b == nullptr || !(a->literal().GetDouble() < b->literal().GetDouble()))
        continue;
      return rewriter.Clamp(low, inner->operand(1 - k), high);
    }
  }
  return nullptr;
}

// Whether the bounds of a clamp are constants, the lower one not above the upper one.
bool BoundsAreOrdered(const Instruction* clamp) {
  const Instruction* low = ScalarConstant(clamp->operand(0));
  const Instruction* high = ScalarConstant(clamp->operand(2));
  if (low == nullptr || high == nullptr) return false;
  const ElementType type = low->shape().element_type();
  if (IsInteger(type)) {
    const int64_t a = low->literal().GetInt(), b = high->literal().GetInt();
    return IsSigned(type) ? a <= b : static_cast<uint64_t>(a) <= static_cast<uint64_t>(b);
  }
  return low->literal().GetDouble() <= high->literal().GetDouble();
}

// max(clamp(lo, x, hi), lo)  =>  clamp(lo, x, hi)
// For constants: where lo > hi the clamp gives hi. (XLA does it for all bounds.)
Instruction* MaxOfClamp(Instruction* max, Rewriter&) {
  for (int side = 0; side < 2; ++side) {
    Instruction* clamp = max->operand(side);
    if (clamp->opcode() == Opcode::kClamp && clamp->operand(0) == max->operand(1 - side) &&
        BoundsAreOrdered(clamp))
      return clamp;
  }
  return nullptr;
}

// max(f(x), f(y))  =>  f(max(x, y)), for growing f
Instruction* MaxOfGrowing(Instruction* max, Rewriter& rewriter) {
  const Opcode f = max->operand(0)->opcode();
  if (f != max->operand(1)->opcode() || IsComplex(max->shape().element_type())) return nullptr;
  if (f != Opcode::kCbrt && f != Opcode::kErf && f != Opcode::kLogistic && f != Opcode::kTanh)
    return nullptr;
  Instruction* x = max->operand(0)->operand(0);
  Instruction* y = max->operand(1)->operand(0);
  return rewriter.Op(f, {rewriter.Maximum(x, y)});
}

// clamp(a, clamp(a, x, b), b)  =>  clamp(a, x, b)
Instruction* ClampTwice(Instruction* clamp, Rewriter&) {
  Instruction *inner, *a, *b;
  if (!Match(clamp, m::Clamp(m::Any(&a), m::Clamp(&inner, m::Same(&a), m::Any(), m::Any(&b)),
                             m::Same(&b))))
    return nullptr;
  return inner;
}

// clamp(0, replica-id, n)  =>  replica-id, with at most n + 1 replicas
Instruction* ClampOfDevice(Instruction* clamp, Rewriter& rewriter) {
  Instruction* id = clamp->operand(1);
  const ModuleConfig& config = rewriter.module().config();
  int64_t count;
  if (id->opcode() == Opcode::kPartitionId) {
    count = config.num_partitions;
  } else if (id->opcode() == Opcode::kReplicaId) {
    count = config.replica_count;
  } else {
    return nullptr;
  }
  const Instruction* high = ScalarConstant(clamp->operand(2));
  if (count == 1 || high == nullptr || !Match(clamp->operand(0), m::Zero())) return nullptr;
  return count <= high->literal().GetInt() + 1 ? id : nullptr;
}

constexpr Rule kOrderRules[] = {
    {"maximum-twice", Opcode::kMaximum, kExact, ExtremeTwice},
    {"minimum-twice", Opcode::kMinimum, kExact, ExtremeTwice},
    {"maximum-of-lowest", Opcode::kMaximum, kExact, ExtremeOfLimitInt},
    {"minimum-of-highest", Opcode::kMinimum, kExact, ExtremeOfLimitInt},
    {"maximum-to-clamp", Opcode::kMaximum, kExact, ExtremesToClamp},
    {"minimum-to-clamp", Opcode::kMinimum, kExact, ExtremesToClamp},
    {"maximum-of-clamp", Opcode::kMaximum, kExact, MaxOfClamp},
    {"maximum-of-growing", Opcode::kMaximum, kReassociate, MaxOfGrowing},
    {"clamp-twice", Opcode::kClamp, kExact, ClampTwice},
    {"clamp-of-device", Opcode::kClamp, kExact, ClampOfDevice},
};
constexpr Rule kNanPropagatingRules[] = {
    {"maximum-of-minus-infinity", Opcode::kMaximum, kExact, ExtremeOfLimitFloat},
    {"minimum-of-infinity", Opcode::kMinimum, kExact, ExtremeOfLimitFloat},
};

}  // namespace

std::span<const Rule> OrderRules() { return kOrderRules; }
std::span<const Rule> NanPropagatingRules() { return kNanPropagatingRules; }

}  // namespace hlo::algsimp
