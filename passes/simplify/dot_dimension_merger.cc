#include "passes/simplify/dot_dimension_merger.h"

#include <algorithm>

namespace hlo {
namespace {

// Whether `dims` are ascending neighbours that lie together in memory, in whatever order.
bool LieTogether(Shape shape, const DimVec& dims) {
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] != dims[i - 1] + 1) return false;
  }
  const Layout* layout = shape.layout_or_null();
  if (layout == nullptr) return true;
  if (layout->HasProperties()) return false;
  const auto is_one = [&](int64_t dim) { return dim >= dims.front() && dim <= dims.back(); };
  const auto& order = layout->minor_to_major;
  const auto first = absl::c_find_if(order, is_one);
  return std::all_of(first, first + static_cast<int64_t>(dims.size()), is_one);
}

// The shape with one dimension for `count` from `first` on; what is left of the layout stays.
Shape WithMergedDims(Shape shape, int64_t first, int64_t count) {
  const auto place = [&](int64_t dim) {
    if (dim <= first) return dim;
    return dim < first + count ? int64_t{-1} : dim - count + 1;
  };
  DimVec sizes;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    const int64_t size = shape.dim(static_cast<int>(dim));
    if (place(dim) >= 0) {
      sizes.push_back(size);
    } else {
      sizes[static_cast<size_t>(first)] *= size;
    }
  }
  const Shape merged = shape.WithDimensions(sizes);
  if (!shape.has_layout()) return merged;
  Layout layout = shape.layout();
  layout.minor_to_major.clear();
  for (const int64_t dim : shape.layout().minor_to_major) {
    if (place(dim) >= 0) layout.minor_to_major.push_back(place(dim));
  }
  return merged.WithLayout(layout);
}

DimVec AfterMerge(DimVec dims, int64_t first, int64_t by) {
  for (int64_t& dim : dims) dim -= dim >= first ? by : 0;
  return dims;
}

}  // namespace

bool DotDimensionMerger::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 || instruction.shape().has_dynamic_dims() ||
      instruction.operand(0)->shape().has_dynamic_dims() ||
      instruction.operand(1)->shape().has_dynamic_dims())
    return false;
  const auto& attrs = instruction.attrs<DotAttrs>();
  return attrs.lhs_batch_dims.size() > 1 &&
         LieTogether(instruction.operand(0)->shape(), attrs.lhs_batch_dims) &&
         LieTogether(instruction.operand(1)->shape(), attrs.rhs_batch_dims);
}

absl::StatusOr<Instruction*> DotDimensionMerger::Expand(Instruction* dot, Rewriter& rewriter) {
  DotAttrs attrs = dot->attrs<DotAttrs>();
  const auto count = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t lhs = attrs.lhs_batch_dims[0];
  const int64_t rhs = attrs.rhs_batch_dims[0];
  attrs.lhs_batch_dims = {lhs};
  attrs.rhs_batch_dims = {rhs};
  attrs.lhs_contracting_dims = AfterMerge(attrs.lhs_contracting_dims, lhs, count - 1);
  attrs.rhs_contracting_dims = AfterMerge(attrs.rhs_contracting_dims, rhs, count - 1);
  const auto merged = [&](Instruction* x, int64_t first) {
    return rewriter.OpWithShape(Opcode::kReshape, WithMergedDims(x->shape(), first, count), {x});
  };
  Instruction* product =
      rewriter.OpWithShape(Opcode::kDot, WithMergedDims(dot->shape(), 0, count),
                           {merged(dot->operand(0), lhs), merged(dot->operand(1), rhs)},
                           AttrsPtr::Make(std::move(attrs)));
  PassOnFrontendAttributes(*dot, product);
  return rewriter.OpWithShape(Opcode::kReshape, dot->shape(), {product});
}

HLO_DEFINE_PASS(DotDimensionMerger)

}  // namespace hlo
