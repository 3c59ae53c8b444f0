// Rules about copies and bitcasts.
#include <algorithm>

#include "lib/types/memory_space.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// ---- layouts that fit ----

// Dimensions from the most major to the most minor, without those of size 1.
DimVec MajorToMinor(Shape shape) {
  const auto& order = shape.layout().minor_to_major;
  DimVec result;
  for (size_t i = order.size(); i-- > 0;) {
    if (shape.dim(static_cast<int>(order[i])) != 1) result.push_back(order[i]);
  }
  return result;
}

DimVec SizesOf(Shape shape, const DimVec& dims) {
  DimVec sizes;
  for (int64_t dim : dims) sizes.push_back(shape.dim(static_cast<int>(dim)));
  return sizes;
}

// Dimensions of two shapes that hold the same elements in the same order.
struct Group {
  DimVec from;
  DimVec to;
};
std::vector<Group> GroupsOf(Shape from, const DimVec& from_dims, Shape to, const DimVec& to_dims) {
  const auto factors = CommonFactors(SizesOf(from, from_dims), SizesOf(to, to_dims));
  std::vector<Group> groups;
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    groups.push_back(
        {{from_dims.begin() + factors[i].first, from_dims.begin() + factors[i + 1].first},
         {to_dims.begin() + factors[i].second, to_dims.begin() + factors[i + 1].second}});
  }
  return groups;
}

// The dimensions of `to` in the order in which `from` has those of their groups, major to minor;
// none where `order`, dimensions of `from`, takes a group apart.
std::optional<DimVec> FollowGroups(const std::vector<Group>& groups, const DimVec& order) {
  DimVec result;
  for (size_t i = 0; i < order.size();) {
    const auto group = absl::c_find_if(groups, [&](const Group& candidate) {
      return !candidate.from.empty() && candidate.from[0] == order[i];
    });
    if (group == groups.end() || i + group->from.size() > order.size() ||
        !std::equal(group->from.begin(), group->from.end(),
                    order.begin() + static_cast<int64_t>(i)))
      return std::nullopt;
    result.insert(result.end(), group->to.begin(), group->to.end());
    i += group->from.size();
  }
  return result;
}

// `shape` laid out in the order `major_to_minor`, dimensions of size 1 outermost: the last one is
// the most minor of them, or the first one. Otherwise as `layout` says.
Shape LaidOut(Shape shape, const DimVec& major_to_minor, bool last_first, Layout layout) {
  layout.minor_to_major.assign(major_to_minor.rbegin(), major_to_minor.rend());
  for (int i = 0; i < shape.rank(); ++i) {
    const int dim = last_first ? shape.rank() - 1 - i : i;
    if (shape.dim(dim) == 1) layout.minor_to_major.push_back(dim);
  }
  return shape.WithLayout(layout);
}

DimVec LogicalOrder(Shape shape) {
  DimVec dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) != 1) dims.push_back(i);
  }
  return dims;
}

// `to` laid out so that a reshape between both moves no byte; none if no layout does that.
std::optional<Shape> Aligned(Shape from, Shape to) {
  const auto groups = GroupsOf(from, LogicalOrder(from), to, LogicalOrder(to));
  const std::optional<DimVec> order = FollowGroups(groups, MajorToMinor(from));
  if (!order) return std::nullopt;
  Layout layout;
  layout.memory_space = MemorySpaceOf(from);
  return LaidOut(to, *order, true, std::move(layout));
}

// ---- bitcasts ----

// bitcast(bitcast(x))  =>  bitcast(x);  bitcast(x) of the same shape  =>  x
Instruction* BitcastOfBitcast(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* x = bitcast->operand(0);
  if (!bitcast->control_predecessors().empty()) return nullptr;
  if (x->shape() == bitcast->shape()) return x;
  if (x->opcode() != Opcode::kBitcast) return nullptr;
  while (x->opcode() == Opcode::kBitcast && x->control_predecessors().empty()) x = x->operand(0);
  return x->shape() == bitcast->shape() ? x : rewriter.Bitcast(x, bitcast->shape());
}

// bitcast(f(bitcast(x)))  =>  bitcast(f(x)), for elementwise f that keep type and layout
Instruction* BitcastOfUnary(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* f = bitcast->operand(0);
  if (f->operand_count() != 1 || !HasTrait(f->opcode(), kElementwise) || !f->has_one_user() ||
      f->operand(0)->opcode() != Opcode::kBitcast || f->has_control_edges() ||
      !bitcast->control_predecessors().empty() || f->shape() != f->operand(0)->shape())
    return nullptr;
  Instruction* x = f->operand(0)->operand(0);
  const ElementType type = f->shape().element_type();
  if (!IsDense(f) || !IsDense(x) || x->shape().element_type() != type ||
      bitcast->shape().element_type() != type)
    return nullptr;
  Instruction* moved = rewriter.OpWithShape(f->opcode(), x->shape(), {x}, f->attrs_ptr());
  return rewriter.Bitcast(moved, bitcast->shape());
}

// bitcast(broadcast(x)) that is a transpose and keeps the order of x's dimensions  =>  broadcast(x)
Instruction* BitcastOfBroadcast(Instruction* bitcast, Rewriter& rewriter) {
  Instruction* broadcast = bitcast->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || !IsAscending(BroadcastDims(broadcast)) ||
      !IsLaidOut(bitcast) || !IsLaidOut(broadcast) || !IsLaidOut(broadcast->operand(0)) ||
      bitcast->shape().layout().tiles != broadcast->shape().layout().tiles ||
      bitcast->shape().rank() != broadcast->shape().rank() ||
      bitcast->shape().element_type() != broadcast->shape().element_type())
    return nullptr;
  const DimVec& from = broadcast->shape().layout().minor_to_major;
  const DimVec& to = bitcast->shape().layout().minor_to_major;
  DimVec places(from.size());  // of the broadcast's dimensions
  for (size_t i = 0; i < from.size(); ++i) {
    places[static_cast<size_t>(from[i])] = to[i];
    if (broadcast->shape().dim(static_cast<int>(from[i])) !=
        bitcast->shape().dim(static_cast<int>(to[i])))
      return nullptr;
  }
  DimVec dims;
  for (int64_t dim : BroadcastDims(broadcast)) dims.push_back(places[static_cast<size_t>(dim)]);
  if (!IsAscending(dims) || !LiesAlike(broadcast->operand(0)->shape(), bitcast->shape(), dims))
    return nullptr;
  return BroadcastTo(rewriter, broadcast->operand(0), bitcast->shape(), dims);
}

// ---- copies ----

// From or to the memory of the host.
bool CrossesToHost(const Instruction* copy) {
  return (MemorySpaceOf(copy->shape()) == kHostMemorySpace) !=
         (MemorySpaceOf(copy->operand(0)->shape()) == kHostMemorySpace);
}

// Whether the tiles of `from` and `to` lie on the same elements, the groups saying which
// dimensions are the same.
bool TilesFit(Shape from, Shape to, const std::vector<Group>& groups) {
  if (from.layout().tiles != to.layout().tiles) return false;
  if (from.layout().tiles.empty()) return true;
  const DimVec& tile = from.layout().tiles[0].dims;
  size_t k = tile.size();
  for (int64_t dim : from.layout().minor_to_major) {
    if (k-- == 0) break;
    const auto group = absl::c_find_if(
        groups, [&](const Group& candidate) { return Contains(candidate.from, dim); });
    if (group == groups.end()) {  // a dimension of size 1
      if (tile[k] != 1) return false;
      continue;
    }
    const int64_t size = from.dim(static_cast<int>(dim));
    const int64_t other = to.dim(static_cast<int>(group->to.back()));
    if (size == other) continue;
    // Taken apart or melted: only where tiles are outermost, and at borders of tiles.
    if (k > 0 || std::max(size, other) % std::min(size, other) != 0 ||
        std::min(size, other) % tile[k] != 0)
      return false;
  }
  return true;
}

// The same groups seen from the other side.
std::vector<Group> Mirrored(std::vector<Group> groups) {
  for (Group& group : groups) std::swap(group.from, group.to);
  return groups;
}

// copy(bitcast(copy(x)))  =>  copy(bitcast(x)), where the dimensions that the bitcast melts lie
//     next to each other in x as well;  bitcast(copy(x)), where tiles forbid that
Instruction* CopyOfBitcastCopy(Instruction* copy, Rewriter& rewriter) {
  const Instruction* bitcast = copy->operand(0);
  if (bitcast->opcode() != Opcode::kBitcast || CrossesToHost(copy)) return nullptr;
  const Instruction* inner = bitcast->operand(0);
  while (inner->opcode() == Opcode::kBitcast) inner = inner->operand(0);
  if (inner->opcode() != Opcode::kCopy || CrossesToHost(inner)) return nullptr;
  Instruction* x = inner->operand(0);
  const Shape from = inner->shape();
  const Shape to = bitcast->shape();
  if (!IsLaidOut(copy) || !IsLaidOut(bitcast) || !IsLaidOut(inner) || !IsLaidOut(x) ||
      to.element_count() != from.element_count() || from.IsZeroSized())
    return nullptr;
  const auto groups = GroupsOf(from, MajorToMinor(from), to, MajorToMinor(to));
  for (const Group& group : groups) {
    if (group.from.size() > 1 && group.to.size() > 1) return nullptr;
  }
  if (!TilesFit(from, to, groups)) return nullptr;
  const auto back = Mirrored(groups);
  const bool before = TilesFit(x->shape(), to, groups);
  if (!before && !TilesFit(copy->shape(), from, back)) return nullptr;
  const std::optional<DimVec> order = before ? FollowGroups(groups, MajorToMinor(x->shape()))
                                             : FollowGroups(back, MajorToMinor(copy->shape()));
  if (!order) return nullptr;
  Layout layout = before ? to.layout() : from.layout();
  layout.memory_space = MemorySpaceOf(before ? x->shape() : copy->shape());
  const Shape shape = LaidOut(before ? to : from, *order, false, std::move(layout));
  if (before)
    return rewriter.OpWithShape(Opcode::kCopy, copy->shape(), {rewriter.Bitcast(x, shape)});
  return rewriter.Bitcast(rewriter.OpWithShape(Opcode::kCopy, shape, {x}), copy->shape());
}

// copy(x) of another layout, where layouts are still free  =>  x
// But for what a bitcast reads: it says how the copy lies.
Instruction* CopyToLayout(Instruction* copy, Rewriter&) {
  if (copy->is_root() && copy->parent()->is_entry() && copy->sharding() != nullptr) return nullptr;
  for (const Use& use : copy->uses()) {
    if (use.user->opcode() == Opcode::kBitcast) return nullptr;
  }
  return copy->shape().IsArray() ? copy->operand(0) : nullptr;
}

// copy or reshape of copies and reshapes of x that moves no byte of x  =>  bitcast(x)
Instruction* MoveToBitcast(Instruction* move, Rewriter& rewriter) {
  if (!IsDense(move) || MemorySpaceOf(move->shape()) != MemorySpaceOf(move->operand(0)->shape()))
    return nullptr;
  Instruction* x = move->operand(0);
  while (!IsDense(x) || x->shape().element_type() != move->shape().element_type() ||
         !ReshapeIsBitcast(x->shape(), move->shape())) {
    if (x->opcode() != Opcode::kCopy && x->opcode() != Opcode::kReshape) return nullptr;
    x = x->operand(0);
  }
  return rewriter.Bitcast(x, move->shape());
}

// copy(reshape(x)) to another memory, the copy moving no byte otherwise  =>  reshape(x)
Instruction* CopyOfReshapeToMemory(Instruction* copy, Rewriter& rewriter) {
  const Instruction* reshape = copy->operand(0);
  if (reshape->opcode() != Opcode::kReshape || !reshape->has_one_user() || !IsDense(copy) ||
      !IsDense(reshape))
    return nullptr;
  Layout layout = copy->shape().layout();
  layout.memory_space = MemorySpaceOf(reshape->shape());
  if (!ReshapeIsBitcast(reshape->shape(), copy->shape().WithLayout(layout))) return nullptr;
  return ReshapeTo(rewriter, reshape->operand(0), copy->shape());
}

// copy(reshape(x))  =>  bitcast(copy(x)), and copy(reshape(copy(x)))  =>  bitcast(copy(x)), where
//     the reshape moves bytes or the two copies meet
Instruction* CopyOfReshape(Instruction* copy, Rewriter& rewriter) {
  const Instruction* reshape = copy->operand(0);
  if (reshape->opcode() != Opcode::kReshape || !reshape->has_one_user()) return nullptr;
  Instruction* x = reshape->operand(0);
  if (!IsDense(copy) || !IsDense(reshape) || !IsDense(x) || copy->shape().IsZeroSized() ||
      MemorySpaceOf(copy->shape()) != MemorySpaceOf(x->shape()))
    return nullptr;
  const bool after_copy = x->opcode() == Opcode::kCopy && x->has_one_user();
  if (!after_copy && ReshapeIsBitcast(x->shape(), reshape->shape())) return nullptr;
  const std::optional<Shape> shape = Aligned(copy->shape(), x->shape());
  if (!shape) return nullptr;
  Instruction* moved = after_copy && x->operand(0)->shape() == *shape
                           ? x->operand(0)
                           : rewriter.OpWithShape(Opcode::kCopy, *shape, {x});
  return rewriter.Bitcast(moved, copy->shape());
}

// reshape(copy(x))  =>  copy(bitcast(x)), where the reshape moves bytes, or another copy follows
Instruction* ReshapeOfCopy(Instruction* reshape, Rewriter& rewriter) {
  const Instruction* copy = reshape->operand(0);
  if (copy->opcode() != Opcode::kCopy || !copy->has_one_user()) return nullptr;
  Instruction* x = copy->operand(0);
  if (!IsDense(reshape) || !IsDense(copy) || !IsDense(x) || reshape->shape().IsZeroSized() ||
      MemorySpaceOf(x->shape()) == kHostMemorySpace ||
      MemorySpaceOf(x->shape()) != MemorySpaceOf(reshape->shape()))
    return nullptr;
  const bool before_copy =
      reshape->has_one_user() && reshape->uses()[0].user->opcode() == Opcode::kCopy;
  if (!before_copy && ReshapeIsBitcast(copy->shape(), reshape->shape())) return nullptr;
  const std::optional<Shape> shape = Aligned(x->shape(), reshape->shape());
  if (!shape) return nullptr;
  Instruction* moved = rewriter.Bitcast(x, *shape);
  return *shape == reshape->shape()
             ? moved
             : rewriter.OpWithShape(Opcode::kCopy, reshape->shape(), {moved});
}

constexpr Rule kBitcastRules[] = {
    {"bitcast-of-unary", Opcode::kBitcast, kExact, BitcastOfUnary},
    {"bitcast-of-bitcast", Opcode::kBitcast, kExact, BitcastOfBitcast},
    {"bitcast-of-broadcast", Opcode::kBitcast, kExact, BitcastOfBroadcast},
    {"copy-of-bitcast-copy", Opcode::kCopy, kExact, CopyOfBitcastCopy},
};
constexpr Rule kFreeCopyRules[] = {
    {"copy-to-layout", Opcode::kCopy, kExact, CopyToLayout},
};
constexpr Rule kLaidOutCopyRules[] = {
    {"reshape-of-copy", Opcode::kReshape, kExact, ReshapeOfCopy},
    {"copy-to-bitcast", Opcode::kCopy, kExact, MoveToBitcast},
    {"copy-of-reshape-to-memory", Opcode::kCopy, kExact, CopyOfReshapeToMemory},
    {"copy-of-reshape", Opcode::kCopy, kExact, CopyOfReshape},
};
constexpr Rule kReshapeToBitcastRules[] = {
    {"reshape-to-bitcast", Opcode::kReshape, kExact, MoveToBitcast},
};

}  // namespace

std::span<const Rule> BitcastRules() { return kBitcastRules; }
std::span<const Rule> FreeCopyRules() { return kFreeCopyRules; }
std::span<const Rule> LaidOutCopyRules() { return kLaidOutCopyRules; }
std::span<const Rule> ReshapeToBitcastRules() { return kReshapeToBitcastRules; }

}  // namespace hlo::algsimp
