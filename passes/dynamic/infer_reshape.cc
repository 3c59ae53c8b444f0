// Sizes of reshapes. The text does not say which dimension of the result becomes smaller when one
// of the operand does:
//
//   `inferred_dimension` of bound 1             it: f32[<=4] -> f32[4,<=1]
//   one dimension of the group                  it: f32[3,<=4] -> f32[<=12]
//   `inferred_dimension`                        it
//   one dimension that is declared dynamic      it: f32[<=12] -> f32[3,<=4]
//   one that is not 1                           it
//   the operand is a reshape back               the one that was dynamic before
#include <optional>

#include "absl/algorithm/container.h"
#include "passes/dynamic/reshape_groups.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

// The only dimension of the group for which `holds`.
template <class F>
std::optional<int> OnlyOne(const ReshapeGroup& group, const F& holds) {
  std::optional<int> found;
  for (int dim = group.out_begin; dim < group.out_end; ++dim) {
    if (!holds(dim)) continue;
    if (found) return std::nullopt;
    found = dim;
  }
  return found;
}

// The value of the dimensions of `reshape` that it had before another reshape, of which `reshape`
// is the inverse, and elementwise operations; null if there is none.
const Instruction* BeforeInverse(const Instruction& reshape) {
  const Instruction* at = reshape.operand(0);
  while (IsElementwise(at->opcode()) && at->operand_count() > 0 &&
         SameDimensions(at->operand(0)->shape(), at->shape()))
    at = at->operand(0);
  const bool is_inverse =
      at->opcode() == Opcode::kReshape && SameDimensions(at->operand(0)->shape(), reshape.shape());
  return is_inverse ? at->operand(0) : nullptr;
}

std::optional<int> InferredDimension(const SizeInference& in, const Instruction& reshape,
                                     const ReshapeGroup& group) {
  const Shape shape = reshape.shape();
  if (group.out_count() == 1) return group.out_begin;
  const auto& inferred = reshape.attrs<ReshapeAttrs>().inferred_dimension;
  if (inferred && *inferred >= group.out_begin && *inferred < group.out_end)
    return static_cast<int>(*inferred);
  if (auto dim = OnlyOne(group, [&](int d) { return shape.is_dynamic(d); })) return dim;
  if (group.in_count() > 1) return std::nullopt;
  if (auto dim = OnlyOne(group, [&](int d) { return shape.dim(d) != 1; })) return dim;
  const Instruction* before = BeforeInverse(reshape);
  if (before == nullptr) return std::nullopt;
  return OnlyOne(group, [&](int d) { return in.Size(before, 0, d) != nullptr; });
}

// All elements of the group, divided among the other dimensions.
Instruction* QuotientSize(const SizeInference& in, Builder& b, const Instruction& reshape,
                          const ReshapeGroup& group, int to) {
  Instruction* elements = nullptr;
  for (int dim = group.in_begin; dim < group.in_end; ++dim) {
    Instruction* size = in.Size(reshape.operand(0), 0, dim);
    if (size == nullptr) size = SizeConstant(b, reshape.operand(0)->shape().dim(dim));
    elements = elements == nullptr ? size : b.Multiply(elements, size);
  }
  int64_t others = 1;
  for (int dim = group.out_begin; dim < group.out_end; ++dim)
    others *= dim == to ? 1 : reshape.shape().dim(dim);
  return b.Divide(elements, SizeConstant(b, others));
}

// What becomes of the size of dimension `to` because dimension `from` of the operand has `size`.
Instruction* ScaledSize(const SizeInference& in, Builder& b, const Instruction& reshape, int from,
                        int to, Instruction* size) {
  const int64_t in_bound = reshape.operand(0)->shape().dim(from);
  const int64_t out_bound = reshape.shape().dim(to);
  if (in_bound == out_bound) return size;
  if (in_bound > out_bound) return b.Divide(size, SizeConstant(b, in_bound / out_bound));
  Instruction* so_far = in.Size(&reshape, 0, to);
  if (so_far == nullptr) so_far = SizeConstant(b, out_bound);
  return b.Multiply(b.Divide(so_far, SizeConstant(b, in_bound)), size);
}

absl::Status Ambiguous(const Instruction& reshape, int64_t dim) {
  return Error(reshape.loc(),
               "dimension {} of `{}`, which is dynamic, becomes several of `{}`; "
               "`inferred_dimension` would say which of them is dynamic",
               dim, reshape.operand(0)->name(), reshape.shape());
}

// A dynamic dimension of bound 1 belongs to no group in particular: unless the shape tells, only at
// the ends it is plain where it goes.
std::optional<int> DegenerateDimension(const Instruction& reshape, const ReshapeGroup& group,
                                       int dim) {
  const bool has_own_place = group.in_count() == 1 && group.out_count() == 1;
  const Shape from = reshape.operand(0)->shape(), to = reshape.shape();
  if (has_own_place && to.is_dynamic(group.out_begin)) return group.out_begin;
  const ReshapeGroup all = {0, from.rank(), 0, to.rank()};
  const auto is_bound_one = [&](int d) { return to.is_dynamic(d) && to.dim(d) == 1; };
  if (absl::c_count(from.dims(), 1) == 1) {
    if (const std::optional<int> only = OnlyOne(all, is_bound_one)) return only;
  }
  if (dim == 0) return 0;
  if (dim == reshape.operand(0)->shape().rank() - 1) return reshape.shape().rank() - 1;
  return has_own_place ? std::optional(group.out_begin) : std::nullopt;
}

absl::Status InferReshapeDim(SizeInference& in, Builder& builder, Instruction* reshape,
                             const ReshapeGroup& group, const OperandSize& known) {
  const int dim = static_cast<int>(known.dim);
  if (reshape->operand(0)->shape().dim(dim) == 1) {
    const std::optional<int> to = DegenerateDimension(*reshape, group, dim);
    if (!to) {
      return Unsupported(reshape->loc(),
                         "dimension {} of `{}`, dynamic and of bound 1, is neither the first nor "
                         "the last",
                         dim, reshape->operand(0)->name());
    }
    in.Set(reshape, 0, *to, ScaledSize(in, builder, *reshape, dim, *to, known.size));
    return absl::OkStatus();
  }
  if (group.in_count() == 1 && group.out_count() == 1) {
    in.Set(reshape, 0, group.out_begin, known.size);
    return absl::OkStatus();
  }
  const std::optional<int> to = InferredDimension(in, *reshape, group);
  if (!to) return Ambiguous(*reshape, dim);
  const bool is_mixed = group.in_count() > 1 && group.out_count() > 1;
  in.Set(reshape, 0, *to,
         is_mixed ? QuotientSize(in, builder, *reshape, group, *to)
                  : ScaledSize(in, builder, *reshape, dim, *to, known.size));
  return absl::OkStatus();
}

}  // namespace

absl::Status InferReshape(SizeInference& in, Instruction* reshape) {
  if (reshape->shape().rank() == 0) return absl::OkStatus();
  Builder builder = BuilderFor(*reshape);
  const auto& inferred = reshape->attrs<ReshapeAttrs>().inferred_dimension;
  if (inferred && reshape->shape().dim(static_cast<int>(*inferred)) == 1 &&
      !in.OperandSizes(*reshape).empty()) {
    const ReshapeGroup all = {0, reshape->operand(0)->shape().rank(), 0, reshape->shape().rank()};
    const int to = static_cast<int>(*inferred);
    in.Set(reshape, 0, to, QuotientSize(in, builder, *reshape, all, to));
    return builder.status();
  }
  const auto groups = ReshapeGroups(reshape->operand(0)->shape(), reshape->shape());
  for (const OperandSize& known : in.OperandSizes(*reshape)) {
    for (const ReshapeGroup& group : groups) {
      if (known.dim < group.in_begin || known.dim >= group.in_end) continue;
      RETURN_IF_ERROR(InferReshapeDim(in, builder, reshape, group, known));
    }
  }
  return builder.status();
}

}  // namespace hlo
