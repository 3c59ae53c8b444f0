#include "passes/expand/dot_decomposer.h"

#include "lib/support/contains.h"

namespace hlo {
namespace {

bool IsCanonicalSide(const DimVec& batch, const DimVec& contracting, Shape shape) {
  if (contracting.size() != 1 || shape.rank() > static_cast<int>(batch.size()) + 2) return false;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The size of one dimension that is made of some; dynamic if one of those is.
struct JoinedSize {
  int64_t size = 1;
  bool dynamic = false;

  void Add(Shape shape, int64_t dim) {
    size *= shape.dim(static_cast<int>(dim));
    dynamic = dynamic || shape.is_dynamic(static_cast<int>(dim));
  }
  // One that is 1 may be left out.
  bool IsNothing() const { return size == 1; }
};

Shape ShapeOf(ElementType type, const std::vector<JoinedSize>& dims) {
  DimVec sizes;
  for (const JoinedSize& dim : dims) sizes.push_back(dim.size);
  Shape shape = Shape::Array(type, sizes);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].dynamic) shape = shape.WithDynamic(static_cast<int>(i), true);
  }
  return shape;
}

// One operand of a dot with its dimensions sorted by role.
struct DotSide {
  DimVec batch, free, contracting;  // dimensions of the operand
  std::vector<JoinedSize> batch_sizes;
  JoinedSize free_size;
  JoinedSize contracting_size;
};

DotSide SplitSide(const DimVec& batch, const DimVec& contracting, Shape shape) {
  DotSide side;
  side.batch = batch;
  side.contracting = contracting;
  for (int64_t dim : batch) side.batch_sizes.emplace_back().Add(shape, dim);
  for (int64_t dim : contracting) side.contracting_size.Add(shape, dim);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (absl::c_linear_search(batch, dim) || absl::c_linear_search(contracting, dim)) continue;
    side.free.push_back(dim);
    side.free_size.Add(shape, dim);
  }
  return side;
}

Instruction* Rearranged(Rewriter& rewriter, Instruction* x, const DotSide& side, bool free_first) {
  DimVec order = side.batch;
  const DimVec& middle = free_first ? side.free : side.contracting;
  const DimVec& last = free_first ? side.contracting : side.free;
  order.insert(order.end(), middle.begin(), middle.end());
  order.insert(order.end(), last.begin(), last.end());
  std::vector<JoinedSize> sizes = side.batch_sizes;
  if (free_first && !side.free_size.IsNothing()) sizes.push_back(side.free_size);
  sizes.push_back(side.contracting_size);
  if (!free_first && !side.free_size.IsNothing()) sizes.push_back(side.free_size);
  std::vector<JoinedSize> single;
  for (const int64_t dim : order) single.emplace_back().Add(x->shape(), dim);
  const ElementType type = x->shape().element_type();
  Instruction* transposed = rewriter.OpWithShape(Opcode::kTranspose, ShapeOf(type, single), {x},
                                                 AttrsPtr::Make(TransposeAttrs{order}));
  return rewriter.OpWithShape(Opcode::kReshape, ShapeOf(type, sizes), {transposed});
}

}  // namespace

bool DotDecomposer::Matches(const Instruction& instruction) const {
  const auto& attrs = instruction.attrs<DotAttrs>();
  const Shape lhs = instruction.operand(0)->shape();
  const Shape rhs = instruction.operand(1)->shape();
  for (const Shape shape : {lhs, rhs}) {
    if (Contains(shape.dims(), Shape::kUnbounded)) return false;
  }
  return !IsCanonicalSide(attrs.lhs_batch_dims, attrs.lhs_contracting_dims, lhs) ||
         !IsCanonicalSide(attrs.rhs_batch_dims, attrs.rhs_contracting_dims, rhs);
}

absl::StatusOr<Instruction*> DotDecomposer::Expand(Instruction* dot, Rewriter& rewriter) {
  const auto& attrs = dot->attrs<DotAttrs>();
  const DotSide lhs =
      SplitSide(attrs.lhs_batch_dims, attrs.lhs_contracting_dims, dot->operand(0)->shape());
  const DotSide rhs =
      SplitSide(attrs.rhs_batch_dims, attrs.rhs_contracting_dims, dot->operand(1)->shape());
  DotAttrs canonical = attrs;
  const auto batch = static_cast<int64_t>(lhs.batch.size());
  canonical.lhs_batch_dims.clear();
  for (int64_t i = 0; i < batch; ++i) canonical.lhs_batch_dims.push_back(i);
  canonical.rhs_batch_dims = canonical.lhs_batch_dims;
  canonical.lhs_contracting_dims = {batch + (lhs.free_size.IsNothing() ? 0 : 1)};
  canonical.rhs_contracting_dims = {batch};
  std::vector<JoinedSize> sizes = lhs.batch_sizes;
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i].dynamic = sizes[i].dynamic || rhs.batch_sizes[i].dynamic;
  if (!lhs.free_size.IsNothing()) sizes.push_back(lhs.free_size);
  if (!rhs.free_size.IsNothing()) sizes.push_back(rhs.free_size);
  Instruction* x = Rearranged(rewriter, dot->operand(0), lhs, /*free_first=*/true);
  Instruction* y = Rearranged(rewriter, dot->operand(1), rhs, /*free_first=*/false);
  Instruction* product =
      rewriter.OpWithShape(Opcode::kDot, ShapeOf(dot->shape().element_type(), sizes), {x, y},
                           AttrsPtr::Make(std::move(canonical)));
  PassOnWork(*dot, product);
  return rewriter.OpWithShape(Opcode::kReshape, dot->shape(), {product});
}

HLO_DEFINE_PASS(DotDecomposer)

}  // namespace hlo
