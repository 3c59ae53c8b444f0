#include "passes/layout/reshape_decomposer.h"

#include <optional>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// The layout with another order of dimensions.
Layout WithOrder(Layout layout, DimVec minor_to_major) {
  layout.minor_to_major = std::move(minor_to_major);
  return layout;
}

Shape InRowMajor(Shape shape) {
  return shape.WithLayout(WithOrder(shape.layout(), Layout::RowMajor(shape.rank()).minor_to_major));
}

// `to` with a layout in which it is a bitcast of `from`, if there is one: groups of dimensions that
// are reshaped into each other stand in the order of `from`, each of them in row-major order.
std::optional<Shape> AlignedWith(Shape from, Shape to) {
  const auto factors = CommonFactors(from.dims(), to.dims());
  std::vector<size_t> group_of(from.dims().size());
  for (size_t g = 0; g + 1 < factors.size(); ++g) {
    for (int64_t d = factors[g].first; d < factors[g + 1].first; ++d)
      group_of[static_cast<size_t>(d)] = g;
  }
  std::vector<size_t> groups;  // the minor one first
  const auto add = [&](size_t group) {
    if (!absl::c_linear_search(groups, group)) groups.push_back(group);
  };
  for (const int64_t d : from.layout().minor_to_major) {
    if (from.dim(static_cast<int>(d)) != 1) add(group_of[static_cast<size_t>(d)]);
  }
  for (size_t g = 0; g + 1 < factors.size(); ++g) add(g);  // those of size 1
  DimVec order;
  for (const size_t g : groups) {
    for (int64_t d = factors[g + 1].second; d-- > factors[g].second;) order.push_back(d);
  }
  const Shape aligned = to.WithLayout(WithOrder(to.layout(), order));
  if (!ReshapeIsBitcast(from, aligned)) return std::nullopt;
  return aligned;
}

// A copy is what `x` is, and divided as it is.
Instruction* CopyTo(Instruction* x, const Shape& shape, Rewriter& rewriter) {
  if (x->shape() == shape) return x;
  Instruction* copy = rewriter.OpWithShape(Opcode::kCopy, shape, {x});
  if (x->sharding() != nullptr) copy->set_sharding(*x->sharding());
  return copy;
}

}  // namespace

bool ReshapeDecomposer::Matches(const Instruction& instruction) const {
  for (const Shape& shape : {instruction.shape(), instruction.operand(0)->shape()}) {
    if (!shape.has_layout() || !shape.layout().tiles.empty() ||
        !shape.layout().split_configs.empty() || shape.has_dynamic_dims() || shape.IsZeroSized())
      return false;
  }
  return WithOrder(instruction.shape().layout(), {}) ==
         WithOrder(instruction.operand(0)->shape().layout(), {});
}

absl::StatusOr<Instruction*> ReshapeDecomposer::Expand(Instruction* reshape, Rewriter& rewriter) {
  Instruction* x = reshape->operand(0);
  const Shape from = x->shape(), to = reshape->shape();
  if (ReshapeIsBitcast(from, to)) return rewriter.Bitcast(x, to);
  if (const std::optional<Shape> aligned = AlignedWith(to, from))
    return rewriter.Bitcast(CopyTo(x, *aligned, rewriter), to);
  if (const std::optional<Shape> aligned = AlignedWith(from, to))
    return CopyTo(rewriter.Bitcast(x, *aligned), to, rewriter);
  Instruction* row_major = CopyTo(x, InRowMajor(from), rewriter);
  return CopyTo(rewriter.Bitcast(row_major, InRowMajor(to)), to, rewriter);
}

HLO_DEFINE_PASS(ReshapeDecomposer)

}  // namespace hlo
