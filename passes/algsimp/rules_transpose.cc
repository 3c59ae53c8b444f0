// Rules rooted at transpose, and reshapes of transposes.
#include <numeric>
#include <optional>

#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// transpose(transpose(x))  =>  transpose(x);  a transpose that permutes nothing  =>  x
Instruction* TransposeOfTranspose(Instruction* transpose, Rewriter& rewriter) {
  const DimVec& order = TransposeOrder(transpose);
  if (IsAscending(order)) return transpose->operand(0);
  Instruction* inner = transpose->operand(0);
  if (inner->opcode() != Opcode::kTranspose) return nullptr;
  const DimVec both = Permute(TransposeOrder(inner), order);
  return IsAscending(both) && inner->operand(0)->shape() == transpose->shape()
             ? inner->operand(0)
             : TransposeTo(rewriter, inner->operand(0), transpose->shape(), both);
}

// A transpose that moves dimensions of size 1 only  =>  reshape
Instruction* TransposeToReshape(Instruction* transpose, Rewriter& rewriter) {
  DimVec larger;
  for (int64_t dim : TransposeOrder(transpose)) {
    if (transpose->operand(0)->shape().dim(static_cast<int>(dim)) != 1) larger.push_back(dim);
  }
  if (!IsAscending(larger) || IsAscending(TransposeOrder(transpose)) ||
      transpose->shape().has_dynamic_dims())
    return nullptr;
  return ReshapeTo(rewriter, transpose->operand(0), transpose->shape());
}

// transpose(broadcast(x)) that keeps the order of x's dimensions  =>  broadcast(x)
// Where layouts are fixed they, too, must agree: no broadcast is to hide a transpose.
template <bool kLaidOut>
Instruction* TransposeOfBroadcast(Instruction* transpose, Rewriter& rewriter) {
  Instruction* broadcast = transpose->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || !IsAscending(BroadcastDims(broadcast)) ||
      transpose->shape().has_dynamic_dims())
    return nullptr;
  const DimVec inverse = InversePermutation(TransposeOrder(transpose));
  DimVec dims;
  for (int64_t dim : BroadcastDims(broadcast)) dims.push_back(inverse[static_cast<size_t>(dim)]);
  if (!IsAscending(dims) ||
      (kLaidOut && !LiesAlike(broadcast->operand(0)->shape(), transpose->shape(), dims)))
    return nullptr;
  return BroadcastTo(rewriter, broadcast->operand(0), transpose->shape(), dims);
}

// ---- of products ----

// The dot with its operands exchanged.
Instruction* SwappedDot(Rewriter& rewriter, const Instruction* dot, DotAttrs attrs, Shape shape) {
  std::swap(attrs.lhs_batch_dims, attrs.rhs_batch_dims);
  std::swap(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
  if (attrs.operand_precision.values.size() == 2)
    std::swap(attrs.operand_precision.values[0], attrs.operand_precision.values[1]);
  return rewriter.OpWithShape(Opcode::kDot, shape, {dot->operand(1), dot->operand(0)},
                              AttrsPtr::Make(std::move(attrs)));
}

bool IsIota(const DimVec& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// transpose(dot(a, b)) that exchanges the free dimensions of a and b  =>  dot(b, a)
// For matrices and batches of them that stand first; what dot-simplifier does, too.
Instruction* TransposeOfMatrixDot(Instruction* transpose, Rewriter& rewriter) {
  Instruction* dot = transpose->operand(0);
  if (dot->opcode() != Opcode::kDot || !dot->has_one_user() || dot->shape().rank() < 2)
    return nullptr;
  const auto& attrs = dot->attrs<DotAttrs>();
  const int rank = dot->shape().rank();
  if (!IsIota(attrs.lhs_batch_dims) || !IsIota(attrs.rhs_batch_dims) ||
      attrs.lhs_contracting_dims.size() != 1 ||
      static_cast<int>(attrs.lhs_batch_dims.size()) != rank - 2 ||
      dot->operand(0)->shape().rank() != rank || dot->operand(1)->shape().rank() != rank)
    return nullptr;
  const DimVec& order = TransposeOrder(transpose);
  for (int i = 0; i < rank - 2; ++i) {
    if (order[static_cast<size_t>(i)] != i) return nullptr;
  }
  if (order[static_cast<size_t>(rank) - 2] != rank - 1) return nullptr;
  return SwappedDot(rewriter, dot, attrs, transpose->shape().WithDefaultLayout());
}

// The same where an operand may have several contracting dimensions: batches that stand first, one
// free dimension on each side.
Instruction* TransposeOfCanonicalDot(Instruction* transpose, Rewriter& rewriter) {
  Instruction* dot = transpose->operand(0);
  if (dot->opcode() != Opcode::kDot || !dot->has_one_user() || dot->shape().rank() < 2 ||
      HasItsParameterRight(*dot))
    return nullptr;
  const auto& attrs = dot->attrs<DotAttrs>();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t summed = static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  DimVec sorted = attrs.lhs_batch_dims;
  absl::c_sort(sorted);
  if (attrs.lhs_batch_dims != attrs.rhs_batch_dims || !IsIota(sorted) || summed == 0 ||
      dot->operand(0)->shape().rank() != batches + summed + 1 ||
      dot->operand(1)->shape().rank() != batches + summed + 1)
    return nullptr;
  DimVec order(static_cast<size_t>(batches) + 2);
  absl::c_iota(order, 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (TransposeOrder(transpose) != order) return nullptr;
  return SwappedDot(rewriter, dot, attrs, transpose->shape());
}

// transpose(dot(a, b)) that puts the free dimensions of b before those of a, and permutes batches
//     =>  dot(b, a)
Instruction* TransposeOfAnyDot(Instruction* transpose, Rewriter& rewriter) {
  Instruction* dot = transpose->operand(0);
  if (dot->opcode() != Opcode::kDot || !dot->has_one_user() || HasItsParameterRight(*dot))
    return nullptr;
  DotAttrs attrs = dot->attrs<DotAttrs>();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const auto summed = static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  const int64_t free_lhs = dot->operand(0)->shape().rank() - batches - summed;
  const int64_t free_rhs = dot->operand(1)->shape().rank() - batches - summed;
  const DimVec& order = TransposeOrder(transpose);
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
    const int64_t from = order[static_cast<size_t>(i)];
    if (i < batches ? from >= batches
                    : from != (i < batches + free_rhs ? i + free_lhs : i - free_rhs))
      return nullptr;
  }
  const DimVec first(order.begin(), order.begin() + batches);
  attrs.lhs_batch_dims = Permute(attrs.lhs_batch_dims, first);
  attrs.rhs_batch_dims = Permute(attrs.rhs_batch_dims, first);
  return SwappedDot(rewriter, dot, std::move(attrs), transpose->shape());
}

// ---- reshapes of transposes ----

// Where a reshape splits one dimension into two, and nothing else.
struct Split {
  int dim = 0;
  int64_t chunks = 0;
};
std::optional<Split> MatchSplit(Shape from, Shape to) {
  if (to.rank() != from.rank() + 1) return std::nullopt;
  int dim = 0;
  while (dim < from.rank() && to.dim(dim) == from.dim(dim)) ++dim;
  if (dim == from.rank() || to.dim(dim) * to.dim(dim + 1) != from.dim(dim)) return std::nullopt;
  for (int i = dim + 1; i < from.rank(); ++i) {
    if (to.dim(i + 1) != from.dim(i)) return std::nullopt;
  }
  return Split{dim, to.dim(dim)};
}

// reshape(transpose(reshape(x))) that takes chunks of one dimension and puts them next to another
//     dimension, further left, that they then melt into  =>  reshape(concatenate(slices of x))
Instruction* ReshapeOfChunks(Instruction* reshape, Rewriter& rewriter) {
  constexpr int64_t kMostChunks = 5;
  Instruction* transpose = reshape->operand(0);
  if (transpose->opcode() != Opcode::kTranspose || !transpose->has_one_user() ||
      transpose->operand(0)->opcode() != Opcode::kReshape)
    return nullptr;
  Instruction* x = transpose->operand(0)->operand(0);
  const Shape shape = x->shape();
  const std::optional<Split> split = MatchSplit(shape, transpose->operand(0)->shape());
  if (!split || split->chunks < 1 || split->chunks > kMostChunks || shape.has_dynamic_dims() ||
      shape.IsZeroSized() || reshape->shape().rank() != shape.rank())
    return nullptr;
  const DimVec& order = TransposeOrder(transpose);
  const auto to = static_cast<int>(absl::c_find(order, split->dim) - order.begin());
  if (to == 0 || to >= split->dim) return nullptr;
  for (int i = 0; i <= shape.rank(); ++i) {
    const int from = i <= to || i > split->dim ? i : i - 1;
    if (i != to && order[static_cast<size_t>(i)] != from) return nullptr;
  }
  const int64_t part = shape.dim(split->dim) / split->chunks;
  const Shape joined =
      shape.WithDim(split->dim, part).WithDim(to - 1, shape.dim(to - 1) * split->chunks);
  if (joined.dims() != reshape->shape().dims()) return nullptr;
  std::vector<Instruction*> slices;
  for (int64_t i = 0; i < split->chunks; ++i) {
    SliceRanges ranges;
    for (int64_t size : shape.dims()) ranges.push_back({0, size, 1});
    ranges[static_cast<size_t>(split->dim)] = {i * part, (i + 1) * part, 1};
    slices.push_back(SliceLike(rewriter, x, ranges));
  }
  return ReshapeTo(rewriter, rewriter.Concatenate(slices, to), reshape->shape());
}

// reshape(transpose(reshape(x))) that melts neighbours that stay neighbours
//     =>  transpose(reshape(x))
Instruction* HoistTranspose(Instruction* reshape, Rewriter& rewriter) {
  const Instruction* transpose = reshape->operand(0);
  if (transpose->opcode() != Opcode::kTranspose ||
      transpose->operand(0)->opcode() != Opcode::kReshape || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized())
    return nullptr;
  const DimVec& order = TransposeOrder(transpose);
  const auto factors = CommonFactors(reshape->shape().dims(), transpose->shape().dims());
  // Where each dimension of the result starts in the operand of the transpose.
  DimVec starts;
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const auto [to, from] = factors[i];
    const auto [to_end, from_end] = factors[i + 1];
    if (to_end - to != 1 || from_end == from) return nullptr;
    for (int64_t k = from + 1; k < from_end; ++k) {
      if (order[static_cast<size_t>(k)] != order[static_cast<size_t>(k) - 1] + 1) return nullptr;
    }
    starts.push_back(order[static_cast<size_t>(from)]);
  }
  DimVec places(starts.size());  // the dimensions of the result by their place in the operand
  absl::c_iota(places, 0);
  absl::c_sort(places, [&](int64_t a, int64_t b) {
    return starts[static_cast<size_t>(a)] < starts[static_cast<size_t>(b)];
  });
  Instruction* melted =
      rewriter.Reshape(transpose->operand(0)->operand(0), Permute(reshape->shape().dims(), places));
  return TransposeTo(rewriter, melted, reshape->shape(), InversePermutation(places));
}

// ---- of scatters ----

// How many elements of the operand, its dimensions seen in `order`, one update writes in a row.
int64_t WriteRun(const Instruction* scatter, const DimVec& order) {
  const Shape operand = scatter->operand(0)->shape();
  const Shape update = scatter->operand(2)->shape();
  int64_t run = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<int>(order[i]);
    run *= update.dim(dim + 1);
    if (update.dim(dim + 1) != operand.dim(dim)) break;
  }
  return run;
}

// transpose(scatter(x, i, u))  =>  scatter(transpose(x), i, transpose(u))
// For scatters as scatter_simplifier leaves them, and where updates write no shorter rows then.
Instruction* TransposeOfScatter(Instruction* transpose, Rewriter& rewriter) {
  Instruction* scatter = transpose->operand(0);
  if (scatter->opcode() != Opcode::kScatter || !scatter->has_one_user() ||
      scatter->operand_count() != 3 || scatter->shape().rank() == 0 ||
      scatter->shape().has_dynamic_dims())
    return nullptr;
  ScatterAttrs attrs = scatter->attrs<ScatterAttrs>();
  const auto rank = static_cast<int64_t>(scatter->shape().rank());
  DimVec natural(static_cast<size_t>(rank)), window;
  absl::c_iota(natural, 0);
  for (int64_t dim : natural) window.push_back(dim + 1);
  if (attrs.index_vector_dim + 1 != scatter->operand(1)->shape().rank() ||
      attrs.update_window_dims != window || scatter->operand(2)->shape().rank() != rank + 1 ||
      !attrs.inserted_window_dims.empty() || !attrs.input_batching_dims.empty())
    return nullptr;
  const DimVec& order = TransposeOrder(transpose);
  if (WriteRun(scatter, order) < WriteRun(scatter, natural)) return nullptr;
  const DimVec inverse = InversePermutation(order);
  for (int64_t& dim : attrs.scatter_dims_to_operand_dims) dim = inverse[static_cast<size_t>(dim)];
  DimVec update_order = {0};
  for (int64_t dim : order) update_order.push_back(dim + 1);
  Instruction* operand = TransposeTo(rewriter, scatter->operand(0), transpose->shape(), order);
  return rewriter.OpWithShape(
      Opcode::kScatter, transpose->shape(),
      {operand, scatter->operand(1), rewriter.Transpose(scatter->operand(2), update_order)},
      AttrsPtr::Make(std::move(attrs)), {scatter->to_apply()});
}

constexpr Rule kTransposeRules[] = {
    {"transpose-of-transpose", Opcode::kTranspose, kExact, TransposeOfTranspose},
};
constexpr Rule kLateTransposeRules[] = {
    {"transpose-to-reshape", Opcode::kTranspose, kExact, TransposeToReshape},
    {"transpose-of-rng", Opcode::kTranspose, kReassociate, MoveOfRng},
};
constexpr Rule kTransposeOfBroadcastRules[] = {
    {"transpose-of-broadcast", Opcode::kTranspose, kExact, TransposeOfBroadcast<false>},
};
constexpr Rule kLaidOutTransposeOfBroadcastRules[] = {
    {"transpose-of-broadcast", Opcode::kTranspose, kExact, TransposeOfBroadcast<true>},
};
constexpr Rule kTransposeOfDotRules[] = {
    {"transpose-of-dot", Opcode::kTranspose, kExact, TransposeOfMatrixDot}};
constexpr Rule kTransposeOfCanonicalDotRules[] = {
    {"transpose-of-canonical-dot", Opcode::kTranspose, kExact, TransposeOfCanonicalDot}};
constexpr Rule kTransposeOfAnyDotRules[] = {
    {"transpose-of-any-dot", Opcode::kTranspose, kReassociate, TransposeOfAnyDot}};
constexpr Rule kTransposeOfScatterRules[] = {
    {"transpose-of-scatter", Opcode::kTranspose, kExact, TransposeOfScatter}};
constexpr Rule kHoistTransposeRules[] = {
    {"hoist-transpose", Opcode::kReshape, kExact, HoistTranspose}};
constexpr Rule kSpaceToDepthRules[] = {
    {"reshape-of-chunks", Opcode::kReshape, kExact, ReshapeOfChunks}};

}  // namespace

std::span<const Rule> TransposeRules() { return kTransposeRules; }
std::span<const Rule> LateTransposeRules() { return kLateTransposeRules; }
std::span<const Rule> TransposeOfBroadcastRules() { return kTransposeOfBroadcastRules; }
std::span<const Rule> LaidOutTransposeOfBroadcastRules() {
  return kLaidOutTransposeOfBroadcastRules;
}
std::span<const Rule> TransposeOfDotRules() { return kTransposeOfDotRules; }
std::span<const Rule> TransposeOfCanonicalDotRules() { return kTransposeOfCanonicalDotRules; }
std::span<const Rule> TransposeOfAnyDotRules() { return kTransposeOfAnyDotRules; }
std::span<const Rule> TransposeOfScatterRules() { return kTransposeOfScatterRules; }
std::span<const Rule> HoistTransposeRules() { return kHoistTransposeRules; }
std::span<const Rule> SpaceToDepthRules() { return kSpaceToDepthRules; }

}  // namespace hlo::algsimp
