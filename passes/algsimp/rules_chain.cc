// Rules that look through several reshapes and transposes at once.
#include <algorithm>
#include <numeric>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

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
    {"dot-of-permuted", Opcode::kDot, kReassociate, DotOfPermuted},
};

}  // namespace

std::span<const Rule> ChainRules() { return kChainRules; }

}  // namespace hlo::algsimp
