// Rules rooted at broadcast, reshape, transpose and reverse.
#include <algorithm>

#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

const DimVec& BroadcastDims(const Instruction* broadcast) {
  return broadcast->attrs<BroadcastAttrs>().dimensions;
}
const DimVec& Order(const Instruction* transpose) {
  return transpose->attrs<TransposeAttrs>().dimensions;
}
bool IsAscending(const DimVec& dims) { return std::is_sorted(dims.begin(), dims.end()); }

// ---- broadcast ----

// A broadcast that adds no element  =>  reshape; one that only permutes  =>  transpose
Instruction* BroadcastAddsNothing(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* x = broadcast->operand(0);
  const DimVec& dims = BroadcastDims(broadcast);
  if (x->shape().element_count() != broadcast->shape().element_count() ||
      broadcast->shape().has_dynamic_dims())
    return nullptr;
  if (IsAscending(dims))
    return Compatible(x->shape(), broadcast->shape())
               ? x
               : rewriter.Reshape(x, broadcast->shape().dims());
  if (x->shape().rank() == broadcast->shape().rank())
    return rewriter.Transpose(x, InversePermutation(dims));
  return nullptr;
}

// broadcast(reshape(x)) where the reshape inserts dimensions of size 1  =>  broadcast(x)
Instruction* BroadcastOfReshape(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* reshape = broadcast->operand(0);
  if (reshape->opcode() != Opcode::kReshape) return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate || degenerate->inserted.empty() || !degenerate->removed.empty()) return nullptr;
  return rewriter.Broadcast(reshape->operand(0), broadcast->shape().dims(),
                            DimsWithout(BroadcastDims(broadcast), degenerate->inserted));
}

// broadcast(broadcast(x))  =>  broadcast(x);  broadcast(iota)  =>  iota
Instruction* BroadcastOfBroadcast(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* inner = broadcast->operand(0);
  const DimVec& dims = BroadcastDims(broadcast);
  if (broadcast->shape().has_dynamic_dims()) return nullptr;
  if (inner->opcode() == Opcode::kIota)
    return rewriter.Iota(broadcast->shape(),
                         dims[static_cast<size_t>(inner->attrs<IotaAttrs>().iota_dimension)]);
  if (inner->opcode() != Opcode::kBroadcast) return nullptr;
  DimVec mapped;
  for (int64_t dim : BroadcastDims(inner)) mapped.push_back(dims[static_cast<size_t>(dim)]);
  return rewriter.Broadcast(inner->operand(0), broadcast->shape().dims(), mapped);
}

// broadcast(x) where x has dimensions of size 1  =>  broadcast(reshape(x))
Instruction* BroadcastOfDegenerate(Instruction* broadcast, Rewriter& rewriter) {
  Instruction* x = broadcast->operand(0);
  if (broadcast->shape().has_dynamic_dims()) return nullptr;
  DimVec ones;
  for (int i = 0; i < x->shape().rank(); ++i) {
    if (x->shape().dim(i) == 1) ones.push_back(i);
  }
  if (ones.empty()) return nullptr;
  return rewriter.Broadcast(rewriter.Reshape(x, DimsWithout(x->shape().dims(), ones)),
                            broadcast->shape().dims(), DimsWithout(BroadcastDims(broadcast), ones));
}

// op(broadcast(x), broadcast(y))  =>  broadcast(op(x, y)), for elementwise operations
Instruction* SinkBroadcast(Instruction* op, Rewriter& rewriter) {
  if (!HasTrait(op->opcode(), kElementwise) || op->opcode() == Opcode::kCopy ||
      op->operand_count() == 0 || op->shape().rank() == 0 || op->shape().has_dynamic_dims())
    return nullptr;
  const Instruction* model = nullptr;
  for (const Instruction* operand : op->operands()) {
    if (operand->opcode() != Opcode::kBroadcast) {
      if (!operand->shape().IsScalar() || operand->shape().rank() == op->shape().rank())
        return nullptr;
      continue;  // a scalar predicate or bound
    }
    if (operand->operand(0)->shape().IsScalar()) continue;
    if (model == nullptr) {
      model = operand;
    } else if (!SameDimensions(model->operand(0)->shape(), operand->operand(0)->shape()) ||
               BroadcastDims(model) != BroadcastDims(operand)) {
      return nullptr;
    }
  }
  if (model == nullptr) {
    for (const Instruction* operand : op->operands()) {
      if (operand->opcode() == Opcode::kBroadcast) model = operand;
    }
    if (model == nullptr) return nullptr;
  }
  const Instruction* like = model->operand(0);
  std::vector<Instruction*> operands;
  for (Instruction* operand : op->operands()) {
    Instruction* x = operand->opcode() == Opcode::kBroadcast ? operand->operand(0) : operand;
    const bool spread = operand->opcode() == Opcode::kBroadcast && x->shape().IsScalar() &&
                        !like->shape().IsScalar();
    operands.push_back(spread ? rewriter.Broadcast(x, like->shape().dims(), {}) : x);
  }
  const Shape shape = like->shape().WithElementType(op->shape().element_type());
  Instruction* narrow = rewriter.OpWithShape(op->opcode(), shape, operands, op->attrs_ptr());
  return rewriter.Broadcast(narrow, op->shape().dims(), BroadcastDims(model));
}

// ---- reshape ----

// reshape(reshape(x))  =>  reshape(x);  a reshape to the same shape  =>  x
Instruction* ReshapeOfReshape(Instruction* reshape, Rewriter& rewriter) {
  Instruction* x = reshape->operand(0);
  if (Compatible(x->shape(), reshape->shape())) return x;
  if (x->opcode() != Opcode::kReshape || reshape->shape().has_dynamic_dims() ||
      x->operand(0)->shape().has_dynamic_dims())
    return nullptr;
  if (Compatible(x->operand(0)->shape(), reshape->shape())) return x->operand(0);
  return rewriter.Reshape(x->operand(0), reshape->shape().dims());
}

// reshape of no element  =>  an empty constant
Instruction* ReshapeOfNothing(Instruction* reshape, Rewriter& rewriter) {
  if (!reshape->shape().IsZeroSized() || reshape->shape().has_dynamic_dims()) return nullptr;
  return rewriter.Constant(Literal(reshape->shape()));
}

// reshape(broadcast(x)) that leaves the dimensions of x alone  =>  broadcast(x)
Instruction* ReshapeOfBroadcast(Instruction* reshape, Rewriter& rewriter) {
  Instruction* broadcast = reshape->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized())
    return nullptr;
  const DimVec moved = UnmodifiedDims(broadcast->shape(), reshape->shape());
  DimVec dims;
  for (int64_t dim : BroadcastDims(broadcast)) {
    if (moved[static_cast<size_t>(dim)] < 0) return nullptr;
    dims.push_back(moved[static_cast<size_t>(dim)]);
  }
  return rewriter.Broadcast(broadcast->operand(0), reshape->shape().dims(), dims);
}

// reshape(iota)  =>  iota, or a sum of iotas in mixed radix when its dimension is split
Instruction* ReshapeOfIota(Instruction* reshape, Rewriter& rewriter) {
  Instruction* iota = reshape->operand(0);
  if (iota->opcode() != Opcode::kIota || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized())
    return nullptr;
  const int64_t dim = iota->attrs<IotaAttrs>().iota_dimension;
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
        digit = rewriter.Multiply(digit, SplatOf(rewriter, reshape->shape().element_type(),
                                                 static_cast<double>(stride), reshape));
      sum = sum == nullptr ? digit : rewriter.Add(sum, digit);
      stride *= size;
    }
    return sum == nullptr ? rewriter.ZeroLike(reshape) : sum;
  }
  return nullptr;
}

// reshape(rng)  =>  rng;  transpose(rng)  =>  rng
// The instruction itself takes the new shape: it draws the same numbers.
Instruction* MovedRng(Instruction* op, Rewriter&) {
  Instruction* rng = op->operand(0);
  if (rng->opcode() != Opcode::kRng || rng->use_count() != 1 || rng->is_root() ||
      op->has_control_edges() || op->shape().has_dynamic_dims())
    return nullptr;
  rng->set_shape(op->shape());
  return rng;
}

// reshape(dynamic-update-slice(a, u, i)) that adds or removes dimensions of size 1
//     =>  dynamic-update-slice(reshape(a), reshape(u), i)
Instruction* ReshapeOfUpdate(Instruction* reshape, Rewriter& rewriter) {
  Instruction* update = reshape->operand(0);
  if (update->opcode() != Opcode::kDynamicUpdateSlice || !update->has_one_user() ||
      update->sharding() != nullptr || reshape->sharding() != nullptr ||
      update->operand_count() != 2 + update->shape().rank() || update->shape().rank() == 0 ||
      !update->operand(2)->shape().IsScalar())
    return nullptr;
  const std::optional<DegenerateReshape> degenerate = MatchDegenerate(reshape);
  if (!degenerate) return nullptr;
  DimVec sizes;
  std::vector<Instruction*> starts;
  int from = 0;
  for (int k = 0; k < reshape->shape().rank(); ++k) {
    if (Contains(degenerate->inserted, k)) {
      sizes.push_back(1);
      starts.push_back(rewriter.ScalarConstant(update->operand(2)->shape().element_type(), 0));
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

// ---- transpose ----

// transpose(transpose(x))  =>  transpose(x);  a transpose that permutes nothing  =>  x
Instruction* TransposeOfTranspose(Instruction* transpose, Rewriter& rewriter) {
  const DimVec& order = Order(transpose);
  if (IsAscending(order)) return transpose->operand(0);
  Instruction* inner = transpose->operand(0);
  if (inner->opcode() != Opcode::kTranspose) return nullptr;
  const DimVec both = Permute(Order(inner), order);
  return IsAscending(both) ? inner->operand(0) : rewriter.Transpose(inner->operand(0), both);
}

// A transpose that moves dimensions of size 1 only  =>  reshape
Instruction* TransposeToReshape(Instruction* transpose, Rewriter& rewriter) {
  DimVec larger;
  for (int64_t dim : Order(transpose)) {
    if (transpose->operand(0)->shape().dim(static_cast<int>(dim)) != 1) larger.push_back(dim);
  }
  if (!IsAscending(larger) || transpose->shape().has_dynamic_dims()) return nullptr;
  return rewriter.Reshape(transpose->operand(0), transpose->shape().dims());
}

// transpose(broadcast(x)) that keeps the order of x's dimensions  =>  broadcast(x)
Instruction* TransposeOfBroadcast(Instruction* transpose, Rewriter& rewriter) {
  Instruction* broadcast = transpose->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || transpose->shape().has_dynamic_dims())
    return nullptr;
  const DimVec inverse = InversePermutation(Order(transpose));
  DimVec dims;
  for (int64_t dim : BroadcastDims(broadcast)) dims.push_back(inverse[static_cast<size_t>(dim)]);
  if (!IsAscending(dims)) return nullptr;
  return rewriter.Broadcast(broadcast->operand(0), transpose->shape().dims(), dims);
}

// transpose(dot(a, b)) that exchanges the free dimensions of a and b  =>  dot(b, a)
Instruction* TransposeOfDot(Instruction* transpose, Rewriter& rewriter) {
  Instruction* dot = transpose->operand(0);
  if (dot->opcode() != Opcode::kDot || !dot->has_one_user() || dot->shape().rank() < 2 ||
      HasItsParameterRight(*dot))
    return nullptr;
  const auto& attrs = dot->attrs<DotAttrs>();
  const int rank = dot->shape().rank();
  const auto canonical = [](const DimVec& batch) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  };
  if (!canonical(attrs.lhs_batch_dims) || !canonical(attrs.rhs_batch_dims) ||
      attrs.lhs_contracting_dims.size() != 1 ||
      static_cast<int>(attrs.lhs_batch_dims.size()) != rank - 2 ||
      dot->operand(0)->shape().rank() != rank || dot->operand(1)->shape().rank() != rank)
    return nullptr;
  const DimVec& order = Order(transpose);
  for (int i = 0; i < rank - 2; ++i) {
    if (order[static_cast<size_t>(i)] != i) return nullptr;
  }
  if (order[static_cast<size_t>(rank) - 2] != rank - 1) return nullptr;
  DotAttrs swapped = attrs;
  std::swap(swapped.lhs_batch_dims, swapped.rhs_batch_dims);
  std::swap(swapped.lhs_contracting_dims, swapped.rhs_contracting_dims);
  if (swapped.operand_precision.values.size() == 2)
    std::swap(swapped.operand_precision.values[0], swapped.operand_precision.values[1]);
  return rewriter.OpWithShape(Opcode::kDot, transpose->shape().WithDefaultLayout(),
                              {dot->operand(1), dot->operand(0)},
                              AttrsPtr::Make(std::move(swapped)));
}

// reshape(transpose(reshape(x))) that puts a few chunks of one dimension behind each other in an
//     earlier one  =>  concatenate(slices of x)
Instruction* ReshapeOfChunks(Instruction* reshape, Rewriter& rewriter) {
  constexpr int64_t kMostChunks = 5;
  Instruction* transpose = reshape->operand(0);
  if (transpose->opcode() != Opcode::kTranspose || !transpose->has_one_user()) return nullptr;
  Instruction* split = transpose->operand(0);
  if (split->opcode() != Opcode::kReshape || !split->has_one_user()) return nullptr;
  Instruction* x = split->operand(0);
  const Shape shape = x->shape();
  const int rank = shape.rank();
  if (split->shape().rank() != rank + 1 || reshape->shape().rank() != rank ||
      shape.has_dynamic_dims() || shape.IsZeroSized())
    return nullptr;
  int from = 0;  // the dimension that is split
  while (from < rank && split->shape().dim(from) == shape.dim(from)) ++from;
  if (from == rank) return nullptr;
  const int64_t chunks = split->shape().dim(from);
  int to = 0;  // the one that the chunks join
  while (to < from && Order(transpose)[static_cast<size_t>(to)] == to) ++to;
  if (to == from || chunks < 2 || chunks > kMostChunks) return nullptr;
  DimVec order, joined;
  for (int i = 0; i <= rank; ++i) {
    if (i == to) order.push_back(from);
    if (i != from) order.push_back(i);
  }
  DimVec part(shape.dims().begin(), shape.dims().end());
  part[static_cast<size_t>(from)] /= chunks;
  joined = part;
  joined[static_cast<size_t>(to)] *= chunks;
  DimVec whole = part;
  whole.insert(whole.begin() + from, chunks);
  const auto same = [](absl::Span<const int64_t> a, const DimVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (Order(transpose) != order || !same(split->shape().dims(), whole) ||
      !same(reshape->shape().dims(), joined))
    return nullptr;
  std::vector<Instruction*> slices;
  for (int64_t i = 0; i < chunks; ++i) {
    DimVec starts(static_cast<size_t>(rank), 0);
    DimVec limits(shape.dims().begin(), shape.dims().end());
    starts[static_cast<size_t>(from)] = i * part[static_cast<size_t>(from)];
    limits[static_cast<size_t>(from)] = (i + 1) * part[static_cast<size_t>(from)];
    slices.push_back(rewriter.Slice(x, starts, limits));
  }
  return rewriter.Concatenate(slices, to);
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
    if (splat->opcode() != Opcode::kBroadcast || !splat->operand(0)->shape().IsEffectiveScalar())
      continue;
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
    if (Contains(ReversedDims(reverse), k)) dims.push_back(from);
    ++from;
  }
  return rewriter.Reshape(rewriter.Reverse(reshape->operand(0), dims), reverse->shape().dims());
}

constexpr Rule kFreeReshapeRules[] = {
    {"broadcast-adds-nothing", Opcode::kBroadcast, kExact, BroadcastAddsNothing},
    {"broadcast-of-reshape", Opcode::kBroadcast, kExact, BroadcastOfReshape},
    {"broadcast-of-broadcast", Opcode::kBroadcast, kExact, BroadcastOfBroadcast},
    {"reshape-of-nothing", Opcode::kReshape, kExact, ReshapeOfNothing},
    {"reshape-of-reshape", Opcode::kReshape, kExact, ReshapeOfReshape},
    {"reshape-of-broadcast", Opcode::kReshape, kExact, ReshapeOfBroadcast},
    {"reshape-of-iota", Opcode::kReshape, kExact, ReshapeOfIota},
    {"reshape-of-rng", Opcode::kReshape, kExact, MovedRng},
    {"reshape-of-update", Opcode::kReshape, kExact, ReshapeOfUpdate},
    {"transpose-of-transpose", Opcode::kTranspose, kExact, TransposeOfTranspose},
    {"transpose-of-dot", Opcode::kTranspose, kExact, TransposeOfDot},
    {"transpose-to-reshape", Opcode::kTranspose, kExact, TransposeToReshape},
    {"transpose-of-rng", Opcode::kTranspose, kReassociate, MovedRng},
    {"transpose-of-broadcast", Opcode::kTranspose, kExact, TransposeOfBroadcast},
    {"reverse-of-ones", Opcode::kReverse, kExact, ReverseOfOnes},
    {"reverse-twice", Opcode::kReverse, kExact, ReverseTwice},
    {"reverse-of-binary", Opcode::kReverse, kExact, ReverseOfBinary},
    {"reverse-of-reshape", Opcode::kReverse, kExact, ReverseOfReshape},
};
constexpr Rule kTransposeOfDotRules[] = {
    {"transpose-of-dot", Opcode::kTranspose, kExact, TransposeOfDot}};
constexpr Rule kBroadcastDegenerateRules[] = {
    {"broadcast-of-degenerate", Opcode::kBroadcast, kExact, BroadcastOfDegenerate}};

// One row for each opcode whose operands may be broadcasts.
constexpr Rule SinkRule(Opcode opcode) { return {"sink-broadcast", opcode, kExact, SinkBroadcast}; }

std::vector<Rule> MakeSinkRules() {
  std::vector<Rule> rules;
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (HasTrait(opcode, kElementwise) && opcode != Opcode::kCopy)
      rules.push_back(SinkRule(opcode));
  }
  return rules;
}
constexpr Rule kSpaceToDepthRules[] = {
    {"reshape-of-chunks", Opcode::kReshape, kExact, ReshapeOfChunks}};

}  // namespace

std::span<const Rule> SpaceToDepthRules() { return kSpaceToDepthRules; }
std::span<const Rule> FreeMovementRules() { return kFreeReshapeRules; }
std::span<const Rule> TransposeOfDotRules() { return kTransposeOfDotRules; }
std::span<const Rule> BroadcastDegenerateRules() { return kBroadcastDegenerateRules; }
std::span<const Rule> SinkBroadcastRules() {
  static const std::vector<Rule> rules = MakeSinkRules();
  return rules;
}

}  // namespace hlo::algsimp
