// Rules rooted at dynamic-slice and dynamic-update-slice.
#include <algorithm>

#include "lib/ir/custom_call.h"
#include "lib/types/memory_space.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// One start per dimension; the old form has them in one array.
bool HasScalarStarts(const Instruction* op, int first) {
  return op->operand_count() == first + op->operand(0)->shape().rank() &&
         (op->operand_count() == first || op->operand(first)->shape().IsScalar());
}

// The constant start, if it is one.
std::optional<int64_t> ConstantStart(const Instruction* start) {
  if (!start->IsConstant() || start->literal().is_elided()) return std::nullopt;
  return start->literal().GetInt();
}

// clamp(0, start, limit), with limit = dimension - size
Instruction* Clamped(Rewriter& rewriter, Instruction* start, int64_t limit) {
  const ElementType type = start->shape().element_type();
  return rewriter.Clamp(rewriter.ScalarConstant(type, 0), start,
                        rewriter.ScalarConstant(type, static_cast<double>(limit)));
}

// The same, or the start itself where it is a constant in that range.
Instruction* InRange(Rewriter& rewriter, Instruction* start, int64_t limit) {
  const std::optional<int64_t> value = ConstantStart(start);
  return value && *value >= 0 && *value <= limit ? start : Clamped(rewriter, start, limit);
}

// Whether the types of all starts of `op` can hold every place in `shape`.
bool StartsReach(const Instruction* op, int first, Shape shape) {
  for (int i = first; i < op->operand_count(); ++i) {
    const int64_t largest = Literal::MaxValue(op->operand(i)->shape().element_type()).GetInt();
    if (largest >= 0 && largest < shape.dim(i - first)) return false;  // negative: u64
  }
  return true;
}

// The sum of two starts, the second as a number of the first's type.
Instruction* Sum(Rewriter& rewriter, Instruction* start, Instruction* other) {
  const ElementType type = start->shape().element_type();
  if (other->shape().element_type() != type) other = rewriter.Convert(other, type);
  return rewriter.Add(start, other);
}

// A slice of the whole  =>  the operand
Instruction* DynamicSliceOfWhole(Instruction* slice, Rewriter&) {
  return Compatible(slice->operand(0)->shape(), slice->shape()) ? slice->operand(0) : nullptr;
}

// Starts of dimensions that are taken whole  =>  0
Instruction* ZeroStarts(Instruction* op, Rewriter& rewriter, Shape taken, int first) {
  if (!HasScalarStarts(op, first)) return nullptr;
  std::vector<Instruction*> operands = op->operand_vector();
  Instruction* zero = nullptr;  // one for all
  for (int i = first; i < op->operand_count(); ++i) {
    const int dim = i - first;
    if (taken.dim(dim) != op->operand(0)->shape().dim(dim)) continue;
    if (Match(op->operand(i), m::Zero())) continue;
    if (zero == nullptr)
      zero = rewriter.ScalarConstant(op->operand(first)->shape().element_type(), 0);
    operands[static_cast<size_t>(i)] = zero;
  }
  if (zero == nullptr) return nullptr;
  return rewriter.OpWithShape(op->opcode(), op->shape(), operands, op->attrs_ptr());
}
Instruction* DynamicSliceZeroStarts(Instruction* slice, Rewriter& rewriter) {
  return ZeroStarts(slice, rewriter, slice->shape(), 1);
}
Instruction* UpdateZeroStarts(Instruction* update, Rewriter& rewriter) {
  return ZeroStarts(update, rewriter, update->operand(1)->shape(), 2);
}

// dynamic-slice(broadcast(x))  =>  broadcast(dynamic-slice(x))
Instruction* DynamicSliceOfBroadcast(Instruction* slice, Rewriter& rewriter) {
  Instruction* broadcast = slice->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || !HasScalarStarts(slice, 1) ||
      slice->shape().has_dynamic_dims())
    return nullptr;
  const DimVec& dims = BroadcastDims(broadcast);
  Instruction* x = broadcast->operand(0);
  if (!dims.empty()) {
    std::vector<Instruction*> starts;
    DimVec sizes;
    for (int64_t dim : dims) {
      starts.push_back(slice->operand(static_cast<int>(dim) + 1));
      sizes.push_back(slice->shape().dim(static_cast<int>(dim)));
    }
    x = DynamicSliceLike(rewriter, x, starts, sizes);
  }
  return BroadcastTo(rewriter, x, slice->shape(), dims);
}

// dynamic-slice with constant starts  =>  slice
// Not of constants, nor to another memory.
Instruction* DynamicSliceConstant(Instruction* slice, Rewriter& rewriter) {
  Instruction* x = slice->operand(0);
  if (!HasScalarStarts(slice, 1) || x->IsConstant() ||
      MemorySpaceOf(x->shape()) != MemorySpaceOf(slice->shape()))
    return nullptr;
  SliceRanges ranges;
  for (int i = 0; i < slice->shape().rank(); ++i) {
    const int64_t size = slice->shape().dim(i);
    const std::optional<int64_t> start = ConstantStart(slice->operand(i + 1));
    if (!start || *start < 0) return nullptr;
    const int64_t first = std::min(*start, x->shape().dim(i) - size);
    ranges.push_back({first, first + size, 1});
  }
  return rewriter.OpWithShape(Opcode::kSlice, slice->shape(), {x},
                              AttrsPtr::Make(SliceAttrs{std::move(ranges)}));
}

bool IsWord(const Instruction* x) {
  const ElementType type = x->shape().element_type();
  return type == ElementType::kS32 || type == ElementType::kU32;
}

// dynamic-slice(iota, i) of one element  =>  clamp(0, i, n-1);  of iota * s: that, times s
Instruction* DynamicSliceOfIota(Instruction* slice, Rewriter& rewriter) {
  if (slice->shape().rank() != 1 || slice->shape().dim(0) != 1 || !HasScalarStarts(slice, 1) ||
      !IsWord(slice) || !IsWord(slice->operand(1)))
    return nullptr;
  const ElementType type = slice->shape().element_type();
  Instruction* scale = nullptr;
  if (!Match(slice->operand(0), m::Iota()) &&
      !(Match(slice->operand(0), m::Multiply(m::Iota(), m::Broadcast(m::Any(&scale)))) &&
        scale->shape().IsScalar()))
    return nullptr;
  Instruction* value = Clamped(rewriter, slice->operand(1), slice->operand(0)->shape().dim(0) - 1);
  if (value->shape().element_type() != type) value = rewriter.Convert(value, type);
  if (scale != nullptr) value = rewriter.Multiply(value, scale);
  return ReshapeTo(rewriter, value, slice->shape());
}

// dynamic-slice(dynamic-slice(x, i), j)  =>  dynamic-slice(x, clamp(0, j, …) + clamp(0, i, …))
// Both starts are clamped as the two slices do; XLA forgets one of them.
Instruction* DynamicSliceTwice(Instruction* slice, Rewriter& rewriter) {
  Instruction* inner = slice->operand(0);
  if (inner->opcode() != Opcode::kDynamicSlice || !HasScalarStarts(slice, 1) ||
      !HasScalarStarts(inner, 1) || !StartsReach(slice, 1, inner->operand(0)->shape()) ||
      !StartsReach(inner, 1, inner->operand(0)->shape()))
    return nullptr;
  std::vector<Instruction*> starts;
  for (int i = 0; i < slice->shape().rank(); ++i) {
    Instruction* outer_start =
        InRange(rewriter, slice->operand(i + 1), inner->shape().dim(i) - slice->shape().dim(i));
    Instruction* inner_start = InRange(rewriter, inner->operand(i + 1),
                                       inner->operand(0)->shape().dim(i) - inner->shape().dim(i));
    starts.push_back(Sum(rewriter, outer_start, inner_start));
  }
  return DynamicSliceLike(rewriter, inner->operand(0), starts, slice->shape().dims());
}

// dynamic-update-slice(x, dynamic-update-slice(dynamic-slice(x, i), u, j), i)
//     =>  dynamic-update-slice(x, u, clamp(0, i, …) + clamp(0, j, …))
Instruction* UpdateOfUpdate(Instruction* update, Rewriter& rewriter) {
  Instruction* inner = update->operand(1);
  if (inner->opcode() != Opcode::kDynamicUpdateSlice || !HasScalarStarts(update, 2) ||
      !HasScalarStarts(inner, 2) || !StartsReach(update, 2, update->shape()) ||
      !StartsReach(inner, 2, update->shape()))
    return nullptr;
  const Instruction* read = inner->operand(0);
  if (read->opcode() != Opcode::kDynamicSlice || read->operand(0) != update->operand(0) ||
      !HasScalarStarts(read, 1))
    return nullptr;
  for (int i = 0; i < update->shape().rank(); ++i) {
    if (read->operand(i + 1) != update->operand(i + 2)) return nullptr;
  }
  Instruction* u = inner->operand(1);
  std::vector<Instruction*> starts;
  for (int i = 0; i < update->shape().rank(); ++i) {
    Instruction* outer_start =
        InRange(rewriter, update->operand(i + 2), update->shape().dim(i) - inner->shape().dim(i));
    Instruction* inner_start =
        InRange(rewriter, inner->operand(i + 2), inner->shape().dim(i) - u->shape().dim(i));
    starts.push_back(Sum(rewriter, outer_start, inner_start));
  }
  return rewriter.DynamicUpdateSlice(update->operand(0), u, starts);
}

// An update of everything  =>  the update;  of nothing  =>  the operand
Instruction* UpdateWhole(Instruction* update, Rewriter&) {
  if (Compatible(update->operand(1)->shape(), update->shape())) return update->operand(1);
  return update->operand(1)->shape().IsZeroSized() ? update->operand(0) : nullptr;
}

// Whether `x` is on its way to the memory of the host.
bool MovesToHost(const Instruction* x) {
  while (x->opcode() == Opcode::kReshape || x->opcode() == Opcode::kBitcast ||
         x->opcode() == Opcode::kCopy)
    x = x->operand(0);
  return IsCustomCall(*x, "MoveToHost");
}

// dynamic-update-slice(broadcast(v), u, constants)  =>  pad(u, v)
// Not where the broadcast stands for memory of the host that is filled piece by piece.
Instruction* UpdateToPad(Instruction* update, Rewriter& rewriter) {
  Instruction *v, *u = update->operand(1);
  if (!Match(update->operand(0), m::Broadcast(m::Any(&v))) || !v->shape().IsScalar() ||
      !HasScalarStarts(update, 2) || MovesToHost(u))
    return nullptr;
  PaddingConfig padding;
  for (int i = 0; i < update->shape().rank(); ++i) {
    const int64_t rest = update->shape().dim(i) - u->shape().dim(i);
    const std::optional<int64_t> start = ConstantStart(update->operand(i + 2));
    if (!start) return nullptr;
    const int64_t low = std::clamp<int64_t>(*start, 0, rest);
    padding.dims.push_back({low, rest - low, 0});
  }
  return PadLike(rewriter, u, v, padding, update);
}

// dynamic-slice(transpose(x))  =>  transpose(dynamic-slice(x))
Instruction* DynamicSliceOfTranspose(Instruction* slice, Rewriter& rewriter) {
  Instruction* transpose = slice->operand(0);
  if (transpose->opcode() != Opcode::kTranspose || !HasScalarStarts(slice, 1)) return nullptr;
  const DimVec& order = transpose->attrs<TransposeAttrs>().dimensions;
  std::vector<Instruction*> starts(order.size());
  DimVec sizes(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    starts[static_cast<size_t>(order[i])] = slice->operand(static_cast<int>(i) + 1);
    sizes[static_cast<size_t>(order[i])] = slice->shape().dim(static_cast<int>(i));
  }
  return rewriter.Transpose(rewriter.DynamicSlice(transpose->operand(0), starts, sizes), order);
}

// dynamic-slice(reshape(x)) where the reshape adds or removes dimensions of size 1
//     =>  reshape(dynamic-slice(x))
Instruction* DynamicSliceOfReshape(Instruction* slice, Rewriter& rewriter) {
  Instruction* reshape = slice->operand(0);
  if (reshape->opcode() != Opcode::kReshape || !HasScalarStarts(slice, 1)) return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate) return nullptr;
  Instruction* x = reshape->operand(0);
  std::vector<Instruction*> starts;
  Instruction* zero = nullptr;  // one for all
  DimVec sizes;
  int from = 0;  // dimension of the slice
  for (int i = 0; i < x->shape().rank(); ++i) {
    const bool removed = Contains(degenerate->removed, i);
    while (!removed && Contains(degenerate->inserted, from)) ++from;
    if (x->shape().dim(i) == 1) {
      if (zero == nullptr)
        zero = rewriter.ScalarConstant(slice->operand_count() > 1
                                           ? slice->operand(1)->shape().element_type()
                                           : ElementType::kS32,
                                       0);
      starts.push_back(zero);
      sizes.push_back(removed ? 1 : slice->shape().dim(from));
    } else {
      starts.push_back(slice->operand(from + 1));
      sizes.push_back(slice->shape().dim(from));
    }
    from += removed ? 0 : 1;
  }
  return rewriter.Reshape(rewriter.DynamicSlice(x, starts, sizes), slice->shape().dims());
}

constexpr Rule kDynamicSliceRules[] = {
    {"dynamic-slice-of-whole", Opcode::kDynamicSlice, kExact, DynamicSliceOfWhole},
    {"dynamic-slice-zero-starts", Opcode::kDynamicSlice, kExact, DynamicSliceZeroStarts},
    {"dynamic-slice-of-broadcast", Opcode::kDynamicSlice, kExact, DynamicSliceOfBroadcast},
    {"update-whole", Opcode::kDynamicUpdateSlice, kExact, UpdateWhole},
    {"update-zero-starts", Opcode::kDynamicUpdateSlice, kExact, UpdateZeroStarts},
    {"update-of-update", Opcode::kDynamicUpdateSlice, kExact, UpdateOfUpdate},
};
constexpr Rule kDynamicSliceToSliceRules[] = {
    {"dynamic-slice-constant", Opcode::kDynamicSlice, kExact, DynamicSliceConstant}};
constexpr Rule kLateDynamicSliceRules[] = {
    {"dynamic-slice-of-iota", Opcode::kDynamicSlice, kExact, DynamicSliceOfIota},
    {"dynamic-slice-twice", Opcode::kDynamicSlice, kExact, DynamicSliceTwice},
};
constexpr Rule kUpdateToPadRules[] = {
    {"update-to-pad", Opcode::kDynamicUpdateSlice, kExact, UpdateToPad}};
constexpr Rule kFreeDynamicSliceRules[] = {
    {"dynamic-slice-of-reshape", Opcode::kDynamicSlice, kExact, DynamicSliceOfReshape},
    {"dynamic-slice-of-transpose", Opcode::kDynamicSlice, kExact, DynamicSliceOfTranspose},
};

}  // namespace

std::span<const Rule> DynamicSliceRules() { return kDynamicSliceRules; }
std::span<const Rule> DynamicSliceToSliceRules() { return kDynamicSliceToSliceRules; }
std::span<const Rule> LateDynamicSliceRules() { return kLateDynamicSliceRules; }
std::span<const Rule> UpdateToPadRules() { return kUpdateToPadRules; }
std::span<const Rule> FreeDynamicSliceRules() { return kFreeDynamicSliceRules; }

}  // namespace hlo::algsimp
