// Reshapes of arrays that end before their bounds. The elements that are there have to lie densely
// before dimensions are merged or split:
//
//   merge   f32[3,<=4] -> f32[<=12]    reshape, then gather: those that are there first, in order
//                                      (a stable sort of their places by a mask)
//   split   f32[<=12] -> f32[3,<=4]    gather, then reshape: element k is the one whose number among
//                                      those that are there is k (a running sum of a mask)
//   both    f32[4,<=6] -> f32[3,<=8]   by way of one dimension
//
// Nothing is to be done where only the first dimension of a group is dynamic, nor where the result
// is whole: then the operand is.
#include <algorithm>

#include "passes/dynamic/dynamic_rewrites.h"
#include "passes/dynamic/reshape_groups.h"
#include "passes/dynamic/size_math.h"

namespace hlo {
namespace {

constexpr ElementType kS32Type = ElementType::kS32;

// The dynamic sizes of dimensions [begin, end) of a value; null for static ones.
std::vector<Instruction*> SizesOfDims(const DynamicSizes& sizes, const Instruction* value,
                                      int begin, int end) {
  std::vector<Instruction*> found;
  for (int dim = begin; dim < end; ++dim) found.push_back(sizes.Get(value, dim));
  return found;
}

bool AnyOf(const std::vector<Instruction*>& sizes) {
  return absl::c_any_of(sizes, [](const Instruction* s) { return s != nullptr; });
}

bool AnyButFirst(const std::vector<Instruction*>& sizes) {
  return std::any_of(sizes.begin() + 1, sizes.end(),
                     [](const Instruction* s) { return s != nullptr; });
}

// 1 for each element of `dims`, counted in one dimension, that is inside `sizes`, else 0. The first
// size does not count: what is after it is after everything.
Instruction* DenseMask(Builder& b, absl::Span<const int64_t> dims,
                       const std::vector<Instruction*>& sizes, Instruction* zero,
                       Instruction* one) {
  int64_t total = 1;
  for (const int64_t dim : dims) total *= dim;
  const auto spread = [&](Instruction* scalar) { return b.Broadcast(scalar, {total}, {}); };
  Instruction* mask = spread(b.Constant(Literal::One(ElementType::kPred)));
  Instruction* index = b.Iota(Shape::Array(kS32Type, {total}), 0);
  for (size_t i = dims.size() - 1; i > 0; --i) {
    Instruction* bound = spread(SizeConstant(b, dims[i]));
    if (sizes[i] != nullptr) {
      Instruction* place = b.Remainder(index, bound);
      mask = b.And(mask, b.Compare(place, spread(sizes[i]), ComparisonDirection::kLt));
    }
    index = b.Divide(index, bound);
  }
  return b.OpWithShape(Opcode::kSelect, Shape::Array(kS32Type, {total}),
                       {mask, spread(one), spread(zero)});
}

// x with the elements along `dim` in the order that `places` says.
Instruction* GatherAlong(Builder& b, Instruction* x, int dim, Instruction* places) {
  const Shape shape = x->shape().WithoutDynamic();
  GatherAttrs attrs;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != dim) attrs.offset_dims.push_back(d);
    attrs.slice_sizes.push_back(d == dim ? 1 : shape.dim(d));
  }
  attrs.collapsed_slice_dims = {dim};
  attrs.start_index_map = {dim};
  attrs.index_vector_dim = 1;
  attrs.indices_are_sorted = true;
  return b.OpWithShape(Opcode::kGather, shape, {x, places}, AttrsPtr::Make(std::move(attrs)));
}

// How many of the mask are 1 before each element, and it.
Instruction* RunningSum(Builder& b, Module& module, Instruction* mask, Instruction* zero) {
  const int64_t total = mask->shape().dim(0);
  WindowDim window;
  window.size = total;
  window.pad_low = total - 1;
  return b.OpWithShape(Opcode::kReduceWindow, mask->shape(), {mask, zero},
                       AttrsPtr::Make(ReduceWindowAttrs{Window{{window}}}),
                       {ScalarComputation(module, Opcode::kAdd, kS32Type)});
}

// (key, key, place, place) -> the first key is greater
Computation* GreaterKeyFirst(Module& module, Computation* caller) {
  Computation* compare = module.AddComputation("compare");
  module.MoveToFront(compare, caller);
  Builder b(compare);
  const Shape scalar = Shape::Scalar(kS32Type);
  Instruction* lhs = b.Parameter(0, scalar, "lhs_key");
  Instruction* rhs = b.Parameter(1, scalar, "rhs_key");
  b.Parameter(2, scalar, "lhs_value");
  b.Parameter(3, scalar, "rhs_value");
  compare->set_root(b.Compare(lhs, rhs, ComparisonDirection::kGt));
  return compare;
}

// The places of the elements whose mask is 1, in order, then the others.
Instruction* PlacesInsideFirst(Builder& b, Module& module, Instruction* mask) {
  Instruction* places = b.Iota(mask->shape(), 0);
  SortAttrs attrs;
  attrs.dimensions.value = 0;
  attrs.is_stable = true;
  Instruction* sort =
      b.OpWithShape(Opcode::kSort, Shape::Tuple({mask->shape(), mask->shape()}), {mask, places},
                    AttrsPtr::Make(std::move(attrs)), {GreaterKeyFirst(module, b.computation())});
  return b.GetTupleElement(sort, 1);
}

// The operand with its dimension as the dimensions of the result want to read it.
void SplitOperand(Builder& b, Instruction* reshape, const ReshapeGroup& group,
                  const DynamicSizes& sizes) {
  const auto ends = SizesOfDims(sizes, reshape, group.out_begin, group.out_end);
  if (!AnyButFirst(ends) || reshape->operand(0)->shape().dim(group.in_begin) == 1) return;
  const auto dims = reshape->shape().dims().subspan(static_cast<size_t>(group.out_begin),
                                                    static_cast<size_t>(group.out_count()));
  Instruction* zero = SizeConstant(b, 0);
  Instruction* one = SizeConstant(b, 1);
  Instruction* mask = DenseMask(b, dims, ends, zero, one);
  Instruction* sum = RunningSum(b, reshape->module(), mask, zero);
  Instruction* places = b.Subtract(sum, b.Broadcast(one, sum->shape().dims(), {}));
  reshape->ReplaceOperand(0, GatherAlong(b, reshape->operand(0), group.in_begin, places));
}

// The result with the elements of its dimension in the order of those of the operand's; `reshaped`
// when that is how they lie.
Instruction* MergeResult(Builder& b, Instruction* reshaped, const Instruction* operand,
                         const ReshapeGroup& group, const DynamicSizes& sizes) {
  const auto ends = SizesOfDims(sizes, operand, group.in_begin, group.in_end);
  if (!AnyButFirst(ends) || reshaped->shape().dim(group.out_begin) == 1) return reshaped;
  const auto dims = operand->shape().dims().subspan(static_cast<size_t>(group.in_begin),
                                                    static_cast<size_t>(group.in_count()));
  Instruction* places = PlacesInsideFirst(
      b, reshaped->module(), DenseMask(b, dims, ends, SizeConstant(b, 0), SizeConstant(b, 1)));
  return GatherAlong(b, reshaped, group.out_begin, places);
}

bool IsMixedAndDynamic(const ReshapeGroup& group, const Instruction* reshape,
                       const DynamicSizes& sizes) {
  if (group.in_count() < 2 || group.out_count() < 2) return false;
  const auto ends = SizesOfDims(sizes, reshape, group.out_begin, group.out_end);
  if (!AnyOf(ends)) return false;
  return AnyButFirst(SizesOfDims(sizes, reshape->operand(0), group.in_begin, group.in_end)) ||
         AnyButFirst(ends);
}

// x[4,<=6] as one dimension: total / bound * size for each dynamic dimension.
Instruction* Flattened(Builder& b, Instruction* x, DynamicSizes& sizes) {
  const int64_t total = x->shape().element_count();
  Instruction* flat =
      b.OpWithShape(Opcode::kReshape, Shape::Array(x->shape().element_type(), {total}), {x});
  Instruction* size = SizeConstant(b, total);
  for (int dim = 0; dim < x->shape().rank(); ++dim) {
    if (Instruction* end = sizes.Get(x, dim))
      size = b.Multiply(b.Divide(size, SizeConstant(b, x->shape().dim(dim))), end);
  }
  sizes.Note(flat, 0, 0, size);
  return flat;
}

// Merges everything, then splits it.
absl::Status RewriteByWayOfOneDimension(Instruction* reshape, DynamicSizes& sizes) {
  Builder b = BuilderFor(*reshape);
  Instruction* flat = Flattened(b, reshape->operand(0), sizes);
  Instruction* result = b.OpWithShape(Opcode::kReshape, reshape->shape().WithoutDynamic(), {flat});
  RETURN_IF_ERROR(b.status());
  ReplaceWithSizes(reshape, result, sizes);
  RETURN_IF_ERROR(RewriteDynamicReshape(flat, sizes));
  return RewriteDynamicReshape(result, sizes);
}

}  // namespace

absl::Status RewriteDynamicReshape(Instruction* reshape, DynamicSizes& sizes) {
  const Instruction* operand = reshape->operand(0);
  const bool is_reshape = reshape->opcode() == Opcode::kReshape;
  if (is_reshape && !sizes.HasAny(reshape) && !sizes.HasAny(operand)) return absl::OkStatus();
  if (reshape->shape().has_dynamic_dims()) return absl::OkStatus();  // its sizes are not known
  const auto groups = ReshapeGroups(operand->shape(), reshape->shape());
  for (const ReshapeGroup& group : groups) {
    if (IsMixedAndDynamic(group, reshape, sizes)) return RewriteByWayOfOneDimension(reshape, sizes);
  }
  Builder b = BuilderFor(*reshape);
  for (const ReshapeGroup& group : groups) {
    if (group.in_count() == 1 && group.out_count() > 1) SplitOperand(b, reshape, group, sizes);
  }
  Instruction* result = reshape;
  if (!is_reshape)
    result = b.OpWithShape(Opcode::kReshape, reshape->shape(), {reshape->operand(0)});
  const std::vector<Use> uses(reshape->uses().begin(), reshape->uses().end());
  Instruction* merged = result;
  for (const ReshapeGroup& group : groups) {
    if (group.in_count() > 1 && group.out_count() == 1 &&
        sizes.Get(reshape, group.out_begin) != nullptr)
      merged = MergeResult(b, merged, operand, group, sizes);
  }
  RETURN_IF_ERROR(b.status());
  if (merged == reshape) return absl::OkStatus();
  sizes.Forward(reshape, merged);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, merged);
  if (reshape->is_root()) reshape->parent()->set_root(merged);
  return absl::OkStatus();
}

}  // namespace hlo
