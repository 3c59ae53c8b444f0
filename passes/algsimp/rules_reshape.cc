// Rules rooted at broadcast, reshape and reverse.

#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"
#include "passes/util/holds_every.h"
#include "passes/util/recovery.h"

namespace hlo::algsimp {
namespace {

// ---- broadcast ----

bool IsSplat(const Instruction* x) {
  return x->opcode() == Opcode::kBroadcast && x->operand(0)->shape().IsScalar();
}

// Operations that compute each element from those at its place, whatever the shape.
bool IsComputedByElement(Opcode opcode) {
  if (opcode == Opcode::kCopy) return false;
  return HasTrait(opcode, kElementwise) || opcode == Opcode::kMap ||
         opcode == Opcode::kBitcastConvert;
}

bool AddsNothing(const Instruction* broadcast) {
  return broadcast->operand(0)->shape().element_count() == broadcast->shape().element_count() &&
         !broadcast->shape().has_dynamic_dims();
}

// The operand of `op` that says how a broadcast of what it computes is one, if all operands are
// broadcasts, of scalars or alike in all, the element types included; null for others.
const Instruction* SinkModel(const Instruction* op) {
  if (!IsComputedByElement(op->opcode()) || op->operand_count() == 0 || op->shape().rank() == 0 ||
      op->shape().has_dynamic_dims() || op->shape().rank() != op->operand(0)->shape().rank())
    return nullptr;
  const Instruction* model = op->operand(0);
  for (const Instruction* operand : op->operands()) {
    if (operand->opcode() != Opcode::kBroadcast || AddsNothing(operand)) return nullptr;
    if (IsSplat(model)) model = operand;
  }
  for (const Instruction* operand : op->operands()) {
    if (!IsSplat(operand) && (operand->operand(0)->shape() != model->operand(0)->shape() ||
                              BroadcastDims(operand) != BroadcastDims(model)))
      return nullptr;
  }
  return model;
}

// op(broadcast(x), broadcast(y))  =>  broadcast(op(x, y)), for elementwise operations
Instruction* SinkBroadcast(Instruction* op, Rewriter& rewriter) {
  const Instruction* model = SinkModel(op);
  if (model == nullptr) return nullptr;
  const Shape like = model->operand(0)->shape();
  std::vector<Instruction*> operands;
  for (Instruction* operand : op->operands()) {
    Instruction* x = operand->operand(0);
    if (x->shape().IsScalar() && !like.IsScalar())
      x = BroadcastTo(rewriter, x, like.WithElementType(x->shape().element_type()), {});
    operands.push_back(x);
  }
  AttrsPtr attrs = op->attrs_ptr();
  std::vector<Computation*> calls;
  if (op->opcode() == Opcode::kMap) {
    MapAttrs map;
    for (int64_t i = 0; i < like.rank(); ++i) map.dimensions.push_back(i);
    attrs = AttrsPtr::Make(std::move(map));
    calls.push_back(op->to_apply());
  }
  Instruction* narrow = rewriter.OpWithShape(
      op->opcode(), like.WithElementType(op->shape().element_type()), operands, attrs, calls);
  return BroadcastTo(rewriter, narrow, op->shape(), BroadcastDims(model));
}

// Whether a reader of `broadcast` is to move above it. That comes first: it is computed on less.
bool Sinks(const Instruction* broadcast) {
  const auto users = broadcast->users();
  return absl::c_any_of(users, [](const Instruction* user) { return SinkModel(user) != nullptr; });
}

// A broadcast that adds no element  =>  reshape; one that only permutes  =>  transpose
Instruction* BroadcastAddsNothing(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* x = broadcast->operand(0);
  const DimVec& dims = BroadcastDims(broadcast);
  if (!AddsNothing(broadcast)) return nullptr;
  if (IsAscending(dims))
    return x->shape() == broadcast->shape() ? x : ReshapeTo(rewriter, x, broadcast->shape());
  if (x->shape().rank() == broadcast->shape().rank())
    return TransposeTo(rewriter, x, broadcast->shape(), InversePermutation(dims));
  return nullptr;
}

// broadcast(reshape(x)) where the reshape inserts dimensions of size 1  =>  broadcast(x)
Instruction* BroadcastOfReshape(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* reshape = broadcast->operand(0);
  if (reshape->opcode() != Opcode::kReshape || broadcast->shape().has_dynamic_dims())
    return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate || degenerate->inserted.empty() || !degenerate->removed.empty()) return nullptr;
  Instruction* const x = reshape->operand(0);
  NoteRecovery(*reshape, x, [&](size_t) {
    return RecoveryModule(x->shape(), [&](Instruction* array) {
      return Builder(array->parent()).Reshape(array, reshape->shape().dims());
    });
  });
  return BroadcastTo(rewriter, x, broadcast->shape(),
                     DimsWithout(BroadcastDims(broadcast), degenerate->inserted));
}

// broadcast(broadcast(x))  =>  broadcast(x);  broadcast(iota)  =>  iota
template <bool kSink>
Instruction* BroadcastOfBroadcast(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* inner = broadcast->operand(0);
  const DimVec& dims = BroadcastDims(broadcast);
  if (broadcast->shape().has_dynamic_dims() || (kSink && Sinks(broadcast))) return nullptr;
  if (inner->opcode() == Opcode::kIota)
    return rewriter.Iota(broadcast->shape(),
                         dims[static_cast<size_t>(inner->attrs<IotaAttrs>().iota_dimension)]);
  if (inner->opcode() != Opcode::kBroadcast) return nullptr;
  DimVec mapped;
  for (int64_t dim : BroadcastDims(inner)) mapped.push_back(dims[static_cast<size_t>(dim)]);
  return BroadcastTo(rewriter, inner->operand(0), broadcast->shape(), mapped);
}

// broadcast(x) where x has dimensions of size 1  =>  broadcast(reshape(x))
template <bool kSink>
Instruction* BroadcastOfDegenerate(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* x = broadcast->operand(0);
  if (broadcast->shape().has_dynamic_dims() || (kSink && Sinks(broadcast))) return nullptr;
  DimVec ones;
  for (int i = 0; i < x->shape().rank(); ++i) {
    if (x->shape().dim(i) == 1) ones.push_back(i);
  }
  if (ones.empty()) return nullptr;
  return BroadcastTo(rewriter, rewriter.Reshape(x, DimsWithout(x->shape().dims(), ones)),
                     broadcast->shape(), DimsWithout(BroadcastDims(broadcast), ones));
}

// reverse(broadcast(scalar))  =>  broadcast(scalar);  sort of it  =>  it
Instruction* SplatStays(Instruction* op, Rewriter&) {
  return op->shape().IsArray() && op->operand_count() == 1 && IsSplat(op->operand(0)) &&
                 !op->shape().has_dynamic_dims()
             ? op->operand(0)
             : nullptr;
}

// ---- reshape ----

// reshape(reshape(x))  =>  reshape(x);  a reshape to the same shape  =>  x
Instruction* ReshapeOfReshape(Instruction* reshape, Rewriter& rewriter) {
  Instruction* x = reshape->operand(0);
  if (Compatible(x->shape(), reshape->shape()) && x->opcode() != Opcode::kReshape) return x;
  if (x->opcode() != Opcode::kReshape || reshape->shape().has_dynamic_dims() ||
      x->operand(0)->shape().has_dynamic_dims())
    return x->shape() == reshape->shape() ? x : nullptr;
  return x->operand(0)->shape() == reshape->shape()
             ? x->operand(0)
             : ReshapeTo(rewriter, x->operand(0), reshape->shape());
}

// reshape of no element  =>  an empty constant
Instruction* ReshapeOfNothing(Instruction* reshape, Rewriter& rewriter) {
  if (!reshape->shape().IsZeroSized() || reshape->shape().has_dynamic_dims()) return nullptr;
  return rewriter.Constant(Literal(reshape->shape()));
}

// reshape(broadcast(x)) that leaves the dimensions of x alone  =>  broadcast(x)
// Not where the broadcast permutes: it would keep doing so in another shape.
Instruction* ReshapeOfBroadcast(Instruction* reshape, Rewriter& rewriter) {
  Instruction* broadcast = reshape->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized() || !IsAscending(BroadcastDims(broadcast)))
    return nullptr;
  const DimVec moved = UnmodifiedDims(broadcast->shape(), reshape->shape());
  DimVec dims;
  for (int64_t dim : BroadcastDims(broadcast)) {
    if (moved[static_cast<size_t>(dim)] < 0) return nullptr;
    dims.push_back(moved[static_cast<size_t>(dim)]);
  }
  return BroadcastTo(rewriter, broadcast->operand(0), reshape->shape(), dims);
}

// reshape(iota)  =>  iota, or a sum of iotas in mixed radix when its dimension is split
Instruction* ReshapeOfIota(Instruction* reshape, Rewriter& rewriter) {
  Instruction* iota = reshape->operand(0);
  if (iota->opcode() != Opcode::kIota || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized())
    return nullptr;
  const int64_t dim = iota->attrs<IotaAttrs>().iota_dimension;
  // Digits times strides add up to what the iota counts where no count is rounded or wraps.
  const int digits = ExactDigits(ComponentType(iota->shape().element_type()));
  if (digits < 63 && iota->shape().dim(static_cast<int>(dim)) > int64_t{1} << digits)
    return nullptr;
  const auto factors = CommonFactors(iota->shape().dims(), reshape->shape().dims());
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const auto [from, to] = factors[i];
    const auto [from_end, to_end] = factors[i + 1];
    if (dim < from || dim >= from_end) continue;
    for (int64_t other = from; other < from_end; ++other) {
      if (other != dim && iota->shape().dim(static_cast<int>(other)) != 1) return nullptr;
    }
    Instruction* sum = nullptr;
    int64_t stride = 1;
    for (int64_t k = to_end; k-- > to;) {
      const int64_t size = reshape->shape().dim(static_cast<int>(k));
      if (size == 1) continue;
      Instruction* digit = rewriter.Iota(reshape->shape(), k);
      if (stride != 1)
        digit =
            rewriter.Multiply(digit, rewriter.ConstantLike(reshape, static_cast<double>(stride)));
      sum = sum == nullptr ? digit : rewriter.Add(sum, digit);
      stride *= size;
    }
    return sum == nullptr ? rewriter.ZeroLike(reshape) : sum;
  }
  return nullptr;
}

// reshape(dynamic-update-slice(a, u, i)) that adds or removes dimensions of size 1
//     =>  dynamic-update-slice(reshape(a), reshape(u), i)
Instruction* ReshapeOfUpdate(Instruction* reshape, Rewriter& rewriter) {
  Instruction* update = reshape->operand(0);
  if (update->opcode() != Opcode::kDynamicUpdateSlice || !update->has_one_user() ||
      update->sharding() != nullptr || update->operand(0)->sharding() != nullptr ||
      update->operand_count() != 2 + update->shape().rank() || update->shape().rank() == 0 ||
      !update->operand(2)->shape().IsScalar())
    return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate) return nullptr;
  DimVec sizes;
  std::vector<Instruction*> starts;
  Instruction* zero = nullptr;  // one for all
  int from = 0;
  for (int k = 0; k < reshape->shape().rank(); ++k) {
    if (Contains(degenerate->inserted, k)) {
      sizes.push_back(1);
      if (zero == nullptr)
        zero = rewriter.ScalarConstant(update->operand(2)->shape().element_type(), 0);
      starts.push_back(zero);
      continue;
    }
    while (Contains(degenerate->removed, from)) ++from;
    sizes.push_back(update->operand(1)->shape().dim(from));
    starts.push_back(update->operand(2 + from));
    ++from;
  }
  return rewriter.DynamicUpdateSlice(rewriter.Reshape(update->operand(0), reshape->shape().dims()),
                                     rewriter.Reshape(update->operand(1), sizes), starts);
}

// ---- reverse ----

const DimVec& ReversedDims(const Instruction* reverse) {
  return reverse->attrs<ReverseAttrs>().dimensions;
}

// Only dimensions of size 1 are reversed  =>  x
Instruction* ReverseOfOnes(Instruction* reverse, Rewriter&) {
  return HasSize1Only(reverse->shape(), ReversedDims(reverse)) ? reverse->operand(0) : nullptr;
}

// reverse(reverse(x))  =>  reverse(x) of the dimensions that one of them has
Instruction* ReverseTwice(Instruction* reverse, Rewriter& rewriter) {
  Instruction* inner = reverse->operand(0);
  if (inner->opcode() != Opcode::kReverse) return nullptr;
  DimVec dims;
  for (int i = 0; i < reverse->shape().rank(); ++i) {
    if (Contains(ReversedDims(reverse), i) != Contains(ReversedDims(inner), i)) dims.push_back(i);
  }
  return dims.empty() ? inner->operand(0) : rewriter.Reverse(inner->operand(0), dims);
}

// reverse(op(x, broadcast(scalar)))  =>  op(reverse(x), broadcast(scalar))
Instruction* ReverseOfBinary(Instruction* reverse, Rewriter& rewriter) {
  Instruction* op = reverse->operand(0);
  if (op->operand_count() != 2 || !HasTrait(op->opcode(), kElementwise) ||
      op->opcode() == Opcode::kCompare || op->opcode() == Opcode::kStochasticConvert)
    return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* splat = op->operand(side);
    if (splat->opcode() != Opcode::kBroadcast || !splat->operand(0)->shape().IsScalar()) continue;
    Instruction* x = rewriter.Reverse(op->operand(1 - side), ReversedDims(reverse));
    std::vector<Instruction*> operands = {x, splat};
    if (side == 0) operands = {splat, x};
    return rewriter.OpWithShape(op->opcode(), op->shape(), operands, op->attrs_ptr());
  }
  return nullptr;
}

// reverse(reshape(x)) where the reshape inserts dimensions of size 1  =>  reshape(reverse(x))
Instruction* ReverseOfReshape(Instruction* reverse, Rewriter& rewriter) {
  Instruction* reshape = reverse->operand(0);
  if (reshape->opcode() != Opcode::kReshape) return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate || !degenerate->removed.empty() || degenerate->inserted.empty()) return nullptr;
  DimVec dims;
  int64_t from = 0;
  for (int64_t k = 0; k < reshape->shape().rank(); ++k) {
    if (Contains(degenerate->inserted, k)) continue;
    if (Contains(ReversedDims(reverse), k) && reshape->shape().dim(static_cast<int>(k)) != 1)
      dims.push_back(from);
    ++from;
  }
  return rewriter.Reshape(rewriter.Reverse(reshape->operand(0), dims), reverse->shape().dims());
}

constexpr Rule kShapeRules[] = {
    {"broadcast-adds-nothing", Opcode::kBroadcast, kExact, BroadcastAddsNothing},
    {"broadcast-of-reshape", Opcode::kBroadcast, kExact, BroadcastOfReshape},
    {"reshape-of-nothing", Opcode::kReshape, kExact, ReshapeOfNothing},
    {"reshape-of-reshape", Opcode::kReshape, kExact, ReshapeOfReshape},
    {"reshape-of-rng", Opcode::kReshape, kExact, MoveOfRng},
    {"reverse-of-ones", Opcode::kReverse, kExact, ReverseOfOnes},
    {"reverse-of-splat", Opcode::kReverse, kExact, SplatStays},
    {"sort-of-splat", Opcode::kSort, kExact, SplatStays},
};
constexpr Rule kLateShapeRules[] = {
    {"reshape-of-broadcast", Opcode::kReshape, kExact, ReshapeOfBroadcast},
    {"reshape-of-iota", Opcode::kReshape, kExact, ReshapeOfIota},
};
constexpr Rule kFreeShapeRules[] = {
    {"reshape-of-update", Opcode::kReshape, kExact, ReshapeOfUpdate},
    {"reverse-twice", Opcode::kReverse, kExact, ReverseTwice},
    {"reverse-of-binary", Opcode::kReverse, kExact, ReverseOfBinary},
    {"reverse-of-reshape", Opcode::kReverse, kExact, ReverseOfReshape},
};
// One row each without and with the rule that moves broadcasts below other operations.
constexpr Rule kBroadcastOfBroadcastRules[] = {
    {"broadcast-of-broadcast", Opcode::kBroadcast, kExact, BroadcastOfBroadcast<false>},
    {"broadcast-of-broadcast", Opcode::kBroadcast, kExact, BroadcastOfBroadcast<true>},
};
constexpr Rule kBroadcastDegenerateRules[] = {
    {"broadcast-of-degenerate", Opcode::kBroadcast, kExact, BroadcastOfDegenerate<false>},
    {"broadcast-of-degenerate", Opcode::kBroadcast, kExact, BroadcastOfDegenerate<true>},
};

// One row for each opcode whose operands may be broadcasts.
constexpr Rule SinkRule(Opcode opcode) { return {"sink-broadcast", opcode, kExact, SinkBroadcast}; }

std::vector<Rule> MakeSinkRules() {
  std::vector<Rule> rules;
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (IsComputedByElement(opcode)) rules.push_back(SinkRule(opcode));
  }
  return rules;
}

}  // namespace

std::span<const Rule> ShapeRules() { return kShapeRules; }
std::span<const Rule> LateShapeRules() { return kLateShapeRules; }
std::span<const Rule> FreeShapeRules() { return kFreeShapeRules; }
std::span<const Rule> BroadcastOfBroadcastRules(bool sink) {
  return std::span<const Rule>(kBroadcastOfBroadcastRules).subspan(sink ? 1 : 0, 1);
}
std::span<const Rule> BroadcastDegenerateRules(bool sink) {
  return std::span<const Rule>(kBroadcastDegenerateRules).subspan(sink ? 1 : 0, 1);
}
std::span<const Rule> SinkBroadcastRules() {
  static const std::vector<Rule> rules = MakeSinkRules();
  return rules;
}

}  // namespace hlo::algsimp
