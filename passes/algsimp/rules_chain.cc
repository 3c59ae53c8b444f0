// Rules that look through several reshapes and transposes at once.
#include <algorithm>
#include <numeric>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

constexpr int kMaxChain = 16;

// Which of the root's dimensions larger than 1, in order, each dimension of a value in the chain
// is; -1 for size 1.
DimVec LabelsOf(Shape shape) {
  DimVec labels;
  int64_t next = 0;
  for (int64_t size : shape.dims()) labels.push_back(size == 1 ? -1 : next++);
  return labels;
}

// Labels of the operand of `step`, a transpose or a reshape that only moves dimensions of size 1;
// false for others.
bool StepUp(const Instruction* step, DimVec& labels) {
  if (step->opcode() != Opcode::kTranspose && step->opcode() != Opcode::kReshape) return false;
  const Shape from = step->operand(0)->shape();
  if (step->shape().has_dynamic_dims() || from.has_dynamic_dims()) return false;
  DimVec above(static_cast<size_t>(from.rank()), -1);
  if (step->opcode() == Opcode::kTranspose) {
    const DimVec& order = step->attrs<TransposeAttrs>().dimensions;
    for (size_t i = 0; i < order.size(); ++i) above[static_cast<size_t>(order[i])] = labels[i];
  } else if (MatchDegenerate(step)) {
    size_t next = 0;
    for (size_t i = 0; i < above.size(); ++i) {
      if (from.dim(static_cast<int>(i)) == 1) continue;
      while (labels[next] < 0) ++next;
      above[i] = labels[next++];
    }
  } else {
    return false;
  }
  labels = std::move(above);
  return true;
}

// A chain of transposes and reshapes of dimensions of size 1 that comes back to where it
//     started  =>  its start
Instruction* ChainToStart(Instruction* root, Rewriter&) {
  DimVec labels = LabelsOf(root->shape());
  Instruction* start = nullptr;
  Instruction* at = root;
  for (int i = 0; i < kMaxChain && StepUp(at, labels); ++i) {
    at = at->operand(0);
    DimVec larger;
    for (int64_t label : labels) {
      if (label >= 0) larger.push_back(label);
    }
    if (std::is_sorted(larger.begin(), larger.end()) && Compatible(at->shape(), root->shape()))
      start = at;
  }
  return start;
}

// reshape(x) of which dimension 0 is sliced along rows of x  =>  reshape(slice(x))
// Rows are taken along the first dimension of x that is larger than 1.
Instruction* SliceOfReshape(Instruction* slice, Rewriter& rewriter) {
  Instruction* reshape = slice->operand(0);
  if (reshape->opcode() != Opcode::kReshape || reshape->shape().has_dynamic_dims() ||
      reshape->shape().IsZeroSized() || reshape->shape().rank() == 0)
    return nullptr;
  Instruction* x = reshape->operand(0);
  if (x->shape().rank() == 0) return nullptr;
  const SliceRanges& ranges = slice->attrs<SliceAttrs>().slice;
  for (int i = 0; i < reshape->shape().rank(); ++i) {
    const SliceRange& range = ranges[static_cast<size_t>(i)];
    if (range.stride != 1 ||
        (i > 0 && (range.start != 0 || range.limit != reshape->shape().dim(i))))
      return nullptr;
  }
  int dim = 0;
  while (dim + 1 < x->shape().rank() && x->shape().dim(dim) == 1) ++dim;
  const int64_t row = reshape->shape().element_count() / reshape->shape().dim(0);
  const int64_t source_row = x->shape().element_count() / x->shape().dim(dim);
  const int64_t first = ranges[0].start * row;
  const int64_t last = ranges[0].limit * row;
  if (first % source_row != 0 || last % source_row != 0) return nullptr;
  DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  starts[static_cast<size_t>(dim)] = first / source_row;
  limits[static_cast<size_t>(dim)] = last / source_row;
  return rewriter.Reshape(rewriter.Slice(x, starts, limits), slice->shape().dims());
}

// The dimensions [first, last) of `from` that a reshape melts into the one dimension `dim` of `to`;
// none if it does more.
std::optional<std::pair<int64_t, int64_t>> MeltedInto(Shape from, Shape to, int64_t dim) {
  if (from.rank() < to.rank()) return std::nullopt;
  const int64_t extra = from.rank() - to.rank();
  for (int64_t i = 0; i < to.rank(); ++i) {
    const int64_t at = i <= dim ? i : i + extra;
    if (i != dim && from.dim(static_cast<int>(at)) != to.dim(static_cast<int>(i)))
      return std::nullopt;
  }
  return std::pair(dim, dim + extra + 1);
}

// dot(reshape(transpose(x)), c), contracting the melted dimensions that the transpose
// permutes, c constant
//     =>  dot(reshape(x), reshape(transpose(reshape(c))))
Instruction* DotOfPermuted(Instruction* dot, Rewriter& rewriter) {
  const auto& attrs = dot->attrs<DotAttrs>();
  if (attrs.lhs_contracting_dims.size() != 1 || dot->shape().has_dynamic_dims()) return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* reshape = dot->operand(side);
    Instruction* constant = dot->operand(1 - side);
    if (reshape->opcode() != Opcode::kReshape || !constant->IsConstant() ||
        constant->literal().is_elided() || reshape->operand(0)->opcode() != Opcode::kTranspose ||
        reshape->shape().IsZeroSized())
      continue;
    Instruction* transpose = reshape->operand(0);
    const int64_t dim = side == 0 ? attrs.lhs_contracting_dims[0] : attrs.rhs_contracting_dims[0];
    const int64_t other = side == 0 ? attrs.rhs_contracting_dims[0] : attrs.lhs_contracting_dims[0];
    const auto melted = MeltedInto(transpose->shape(), reshape->shape(), dim);
    if (!melted || melted->second - melted->first < 2) continue;
    const DimVec& order = transpose->attrs<TransposeAttrs>().dimensions;
    bool within = true;
    for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
      const int64_t from = order[static_cast<size_t>(i)];
      const bool inside = i >= melted->first && i < melted->second;
      within = within && (inside ? from >= melted->first && from < melted->second : from == i);
    }
    if (!within || std::is_sorted(order.begin(), order.end())) continue;
    // The constant with the contracted dimension taken apart, put into the order of x,
    // and melted again.
    DimVec apart, into(constant->shape().dims().begin(), constant->shape().dims().end());
    const int64_t count = melted->second - melted->first;
    for (int64_t i = 0; i < constant->shape().rank(); ++i) {
      if (i != other) {
        apart.push_back(constant->shape().dim(static_cast<int>(i)));
        continue;
      }
      for (int64_t k = melted->first; k < melted->second; ++k)
        apart.push_back(transpose->shape().dim(static_cast<int>(k)));
    }
    DimVec places(apart.size());
    std::iota(places.begin(), places.end(), 0);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t of_x = order[static_cast<size_t>(melted->first + k)] - melted->first;
      places[static_cast<size_t>(other + of_x)] = other + k;
    }
    std::vector<Instruction*> operands(2);
    operands[static_cast<size_t>(side)] =
        rewriter.Reshape(transpose->operand(0), reshape->shape().dims());
    operands[static_cast<size_t>(1 - side)] =
        rewriter.Reshape(rewriter.Transpose(rewriter.Reshape(constant, apart), places), into);
    return rewriter.OpWithShape(Opcode::kDot, dot->shape(), operands, dot->attrs_ptr());
  }
  return nullptr;
}

constexpr Rule kChainRules[] = {
    {"reshape-chain", Opcode::kReshape, kExact, ChainToStart},
    {"transpose-chain", Opcode::kTranspose, kExact, ChainToStart},
    {"slice-of-reshape", Opcode::kSlice, kExact, SliceOfReshape},
    {"dot-of-permuted", Opcode::kDot, kReassociate, DotOfPermuted},
};

}  // namespace

std::span<const Rule> ChainRules() { return kChainRules; }

}  // namespace hlo::algsimp
