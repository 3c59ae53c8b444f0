#include "passes/gpu/f8_products.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/match/pattern.h"
#include "lib/support/contains.h"
#include "lib/support/round.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/library_f8.h"

namespace hlo {
namespace {

using enum ElementType;

constexpr int64_t kF8Alignment = 16;
constexpr ElementType kF8Results[] = {kBF16, kF16, kF32};
constexpr OpcodeSet kF8Moves = {Opcode::kBitcast,      Opcode::kBroadcast, Opcode::kCopy,
                                Opcode::kDynamicSlice, Opcode::kPad,       Opcode::kReshape,
                                Opcode::kSelect,       Opcode::kSlice,     Opcode::kTranspose};

using F8Path = std::vector<std::pair<Instruction*, int>>;

// From f8 to `value`, each with the operand that the one before it is; empty where there is none.
F8Path PathFromF8(Instruction* value, absl::flat_hash_set<const Instruction*>& seen) {
  if (!value->shape().IsArray() || !seen.insert(value).second) return {};
  if (IsF8(value->shape().element_type())) return {{value, -1}};
  const Opcode opcode = value->opcode();
  std::vector<int> sides;
  if (opcode == Opcode::kMultiply) {
    sides = {0, 1};
  } else if (opcode == Opcode::kSelect) {
    sides = {1, 2};
  } else if (value->operand_count() == 1 || opcode == Opcode::kDivide ||
             opcode == Opcode::kDynamicSlice || opcode == Opcode::kPad) {
    sides = {0};
  }
  for (const int side : sides) {
    F8Path path = PathFromF8(value->operand(side), seen);
    if (path.empty()) continue;
    path.emplace_back(value, side);
    return path;
  }
  return {};
}

// Whether `move` does the same to f8 as to what is converted from it.
bool Commutes(const Instruction& move, int side) {
  if (!kF8Moves.Has(move.opcode()) || move.has_control_edges()) return false;
  if (move.shape().element_type() != move.operand(side)->shape().element_type()) return false;
  if (move.opcode() == Opcode::kPad) return Match(move.operand(1), m::Zero());
  return move.opcode() != Opcode::kSelect ||
         Match(move.operand(side == 2 ? 1 : 2), m::Broadcast(m::Zero()));
}

Instruction* MovedF8(Instruction* x, const F8Operand& operand, Rewriter& b) {
  for (const auto& [move, side] : operand.moves) {
    std::vector<Instruction*> operands = move->operand_vector();
    const ElementType type = x->shape().element_type();
    if (move->opcode() == Opcode::kPad) operands[1] = b.Convert(operands[1], type);
    if (move->opcode() == Opcode::kSelect) {
      Instruction*& other = operands[side == 2 ? 1 : 2];
      other = b.Convert(other, type);
    }
    operands[static_cast<size_t>(side)] = x;
    x = move->parent()->AddClone(*move, move->shape().WithElementType(type), operands);
  }
  return x;
}

// `x` with two dimensions exchanged, in a layout like that of `x`.
Instruction* Exchanged(Instruction* x, int64_t one, int64_t other, Rewriter& b) {
  const Shape shape = x->shape().WithMissingLayoutsFilled();
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  std::swap(sizes[static_cast<size_t>(one)], sizes[static_cast<size_t>(other)]);
  const DimVec order = MajorToMinor(shape);
  const DimVec place = InversePermutation(order);
  DimVec permutation(order.size());
  for (size_t i = 0; i < order.size(); ++i) permutation[i] = static_cast<int64_t>(i);
  std::swap(permutation[static_cast<size_t>(place[static_cast<size_t>(one)])],
            permutation[static_cast<size_t>(place[static_cast<size_t>(other)])]);
  if (shape.layout().IsRowMajor()) return b.Transpose(x, permutation);
  Instruction* const turned = b.Transpose(b.Bitcast(x, InMemoryOrder(shape)), permutation);
  return b.Bitcast(turned, Shape::Array(shape.element_type(), sizes).WithLayout(shape.layout()));
}

// Lets the contracted dimension of a matrix, which is `contracted`, be the minor one.
Instruction* WithMinorContracted(Instruction* x, const DimVec& batch, int64_t& contracted,
                                 Rewriter& b) {
  const Shape shape = x->shape().WithMissingLayoutsFilled();
  if (shape.layout().minor_to_major[0] == contracted) return x;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d == contracted || Contains(batch, d)) continue;
    x = Exchanged(x, contracted, d, b);
    contracted = d;
    return x;
  }
  return x;
}

Shape AlignedShape(Shape shape, const DimVec& batch) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (!Contains(batch, d)) shape = shape.WithDim(d, RoundUp(shape.dim(d), kF8Alignment));
  }
  return shape;
}

// f8 is yielded as it is where the dot reads f8, f8e5m2 only beside f8e5m2.
Decision YieldsKnownType(const Instruction& dot) {
  const ElementType result = dot.shape().element_type();
  if (Contains(kF8Results, result)) return Yes();
  const ElementType lhs = dot.operand(0)->shape().element_type();
  const ElementType rhs = dot.operand(1)->shape().element_type();
  const bool fits = IsLibraryF8(result) && IsLibraryF8(lhs) && IsLibraryF8(rhs) &&
                    (result == kF8E4M3FN || lhs == kF8E5M2 || rhs == kF8E5M2);
  return fits ? Yes() : No("the library has no results of {}", dot.shape());
}

Instruction* PaddedTo(Instruction* x, Shape shape, Rewriter& b) {
  if (absl::c_equal(x->shape().dims(), shape.dims())) return x;
  PaddingConfig padding;
  for (int d = 0; d < shape.rank(); ++d)
    padding.dims.push_back({0, shape.dim(d) - x->shape().dim(d), 0});
  return b.Pad(x, b.ScalarConstant(shape.element_type(), 0), padding);
}

}  // namespace

std::optional<F8Operand> FindF8Operand(Instruction* operand) {
  absl::flat_hash_set<const Instruction*> seen;
  const F8Path path = PathFromF8(operand, seen);
  if (path.empty()) return std::nullopt;
  F8Operand found;
  found.f8 = path[0].first;
  if (path.size() == 1) return found;
  if (path[1].first->opcode() != Opcode::kConvert) return std::nullopt;
  size_t first_move = 2;
  if (path.size() > 2) {
    Instruction* const scaled = path[2].first;
    Instruction* scale = nullptr;
    const bool is_divided =
        path[2].second == 0 && Match(scaled, m::Divide(m::Any(), m::Broadcast(m::Any(&scale))));
    if (is_divided || (scaled->opcode() == Opcode::kMultiply &&
                       Match(scaled->operand(1 - path[2].second), m::Broadcast(m::Any(&scale))))) {
      found.scale = scale;
      found.is_divided = is_divided;
      first_move = 3;
    }
  }
  for (size_t i = first_move; i < path.size(); ++i) {
    if (!Commutes(*path[i].first, path[i].second)) return std::nullopt;
    found.moves.push_back(path[i]);
  }
  return found;
}

Decision IsF8Product(const Instruction& dot, const F8Operand& lhs, const F8Operand& rhs) {
  const auto& attrs = dot.attrs<DotAttrs>();
  for (const F8Operand* side : {&lhs, &rhs}) {
    const ElementType type = side->f8->shape().element_type();
    if (!IsLibraryF8(type)) return No("the library has no {}", Text(type));
    if (side->scale != nullptr && side->scale->shape().rank() != 0)
      return No("`{}` is no scalar", side->scale->name());
  }
  if (lhs.f8->shape().element_type() == kF8E5M2 && rhs.f8->shape().element_type() == kF8E5M2)
    return No("both sides are f8e5m2");
  if (Decision may = YieldsKnownType(dot); !may) return may;
  if (attrs.lhs_contracting_dims.size() != 1 || attrs.rhs_contracting_dims.size() != 1)
    return No("it contracts several dimensions");
  for (const int side : {0, 1}) {
    const DimVec& batch = side == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
    const Shape shape = dot.operand(side)->shape();
    if (shape.rank() != static_cast<int>(batch.size()) + 2 || shape.has_dynamic_dims())
      return No("`{}` is no matrix", dot.operand(side)->name());
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i] != static_cast<int64_t>(i))
        return No("the batch dimensions of `{}` are not its first", dot.operand(side)->name());
    }
  }
  return Yes();
}

F8Factors F8FactorsOf(const Instruction& dot, const F8Operand& lhs, const F8Operand& rhs,
                      bool may_lie_anyhow, Rewriter& b) {
  F8Factors factors;
  factors.attrs = dot.attrs<DotAttrs>();
  DotAttrs& attrs = factors.attrs;
  factors.lhs_scale = F8Scale(lhs.scale, lhs.is_divided, b);
  factors.rhs_scale = F8Scale(rhs.scale, rhs.is_divided, b);
  factors.lhs = MovedF8(lhs.f8, lhs, b);
  factors.rhs = MovedF8(rhs.f8, rhs, b);
  if (!may_lie_anyhow) {
    factors.lhs =
        WithMinorContracted(factors.lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims[0], b);
    factors.rhs =
        WithMinorContracted(factors.rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims[0], b);
  }
  factors.lhs = PaddedTo(factors.lhs, AlignedShape(factors.lhs->shape(), attrs.lhs_batch_dims), b);
  factors.rhs = PaddedTo(factors.rhs, AlignedShape(factors.rhs->shape(), attrs.rhs_batch_dims), b);
  factors.result = AlignedShape(dot.shape(), attrs.lhs_batch_dims);
  return factors;
}

Instruction* F8Scale(Instruction* scale, bool is_divided, Rewriter& b) {
  if (scale == nullptr) return b.ScalarConstant(kF32, 1);
  if (is_divided) scale = b.Divide(b.ConstantLike(scale, 1), scale);
  return scale->shape().element_type() == kF32 ? scale : b.Convert(scale, kF32);
}

Instruction* PaddedVector(Instruction* bias, int64_t size, Rewriter& b) {
  if (bias->shape().rank() != 1) return bias;
  return PaddedTo(bias, bias->shape().WithDim(0, size), b);
}

}  // namespace hlo
