// Rules that slice or sum the operands of a dot instead of its result.

#include "lib/analysis/operations.h"
#include "lib/analysis/region.h"
#include "passes/algsimp/dot_dims.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// The part of `x` that a slice of the dot needs; x itself if that is all of it. `to` gives for each
// dimension of x the one of the dot.
Instruction* SlicedOperand(Rewriter& rewriter, Instruction* x, const DimVec& to,
                           const SliceRanges& ranges) {
  DimVec starts, limits, strides;
  bool slices = false;
  for (int i = 0; i < x->shape().rank(); ++i) {
    const int64_t from = to[static_cast<size_t>(i)];
    const int64_t size = x->shape().dim(i);
    const SliceRange range = from < 0 ? SliceRange{0, size, 1} : ranges[static_cast<size_t>(from)];
    starts.push_back(range.start);
    limits.push_back(range.limit);
    strides.push_back(range.stride);
    slices = slices || range.start != 0 || range.limit < size || range.stride != 1;
  }
  return slices ? rewriter.Slice(x, starts, limits, strides) : x;
}

// Whether `attrs` leave no dimension of an operand of these sizes, of which those of size 1 do not
// count: such dots become sums of products.
bool HasNoFreeDims(const DimVec& batch, const DimVec& contracting, const DimVec& sizes) {
  return static_cast<int64_t>(batch.size() + contracting.size()) ==
         absl::c_count_if(sizes, [](int64_t size) { return size != 1; });
}

// slice(dot(a, b))  =>  dot(slice(a), slice(b))
Instruction* SliceOfDot(Instruction* slice, Rewriter& rewriter) {
  Instruction* dot = slice->operand(0);
  if (dot->opcode() != Opcode::kDot || HasDynamicSizes(dot) || slice->shape().IsZeroSized())
    return nullptr;
  const DotAttrs& attrs = DimsOf(dot);
  Instruction *lhs = dot->operand(0), *rhs = dot->operand(1);
  const DotDims to = ResultDims(attrs, lhs->shape(), rhs->shape());
  const auto sizes = [&](const Instruction* x, const DimVec& dims) {
    DimVec result(x->shape().dims().begin(), x->shape().dims().end());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] >= 0) result[i] = slice->shape().dim(static_cast<int>(dims[i]));
    }
    return result;
  };
  if (HasNoFreeDims(attrs.lhs_batch_dims, attrs.lhs_contracting_dims, sizes(lhs, to.lhs)) ||
      HasNoFreeDims(attrs.rhs_batch_dims, attrs.rhs_contracting_dims, sizes(rhs, to.rhs)))
    return nullptr;
  const SliceRanges& ranges = slice->attrs<SliceAttrs>().slice;
  return rewriter.OpWithShape(
      Opcode::kDot, slice->shape(),
      {SlicedOperand(rewriter, lhs, to.lhs, ranges), SlicedOperand(rewriter, rhs, to.rhs, ranges)},
      dot->attrs_ptr());
}

double ReduceFlops(const Instruction* x, const DimVec& dims, double results) {
  double terms = 1;
  for (const int64_t dim : dims)
    terms *= static_cast<double>(x->shape().dim(static_cast<int>(dim)));
  return results * (terms - 1);
}

// One operand of a dot whose result is summed.
struct SummedOperand {
  Instruction* x;
  DimVec summed;       // its dimensions that go
  DimVec contracting;  // numbered without them
  double results = 1;  // elements of the sum

  SummedOperand(Instruction* operand, const DimVec& from_result, const DimVec& reduced,
                const DimVec& contracted)
      : x(operand) {
    for (const int64_t dim : reduced) {
      const int64_t own = from_result[static_cast<size_t>(dim)];
      if (own >= 0) summed.push_back(own);
    }
    absl::c_sort(summed);
    for (const int64_t dim : contracted) {
      contracting.push_back(dim -
                            absl::c_count_if(summed, [&](int64_t gone) { return gone < dim; }));
    }
    for (int i = 0; i < x->shape().rank(); ++i) {
      if (!Contains(summed, i)) results *= static_cast<double>(x->shape().dim(i));
    }
  }
  double Flops() const { return ReduceFlops(x, summed, results); }
  Shape SumShape() const {
    return x->shape().WithDimensions(DimsWithout(x->shape().dims(), summed));
  }
  Instruction* Sum(Rewriter& rewriter, Instruction* reduce) const {
    return summed.empty() ? x : rewriter.Reduce(x, reduce->operand(1), summed, reduce->to_apply());
  }
};

// Whether sums of the operands can be made as those of the result.
bool SumsInItsType(const Instruction* dot) {
  return absl::c_all_of(dot->operands(), [&](const Instruction* x) {
    return x->shape().element_type() == dot->shape().element_type();
  });
}

// sum(dot(a, b))  =>  dot(sum(a), sum(b)), when that takes fewer operations
Instruction* SumOfDot(Instruction* reduce, Rewriter& rewriter) {
  Instruction* dot = reduce->operand(0);
  if (reduce->operand_count() != 2 || dot->opcode() != Opcode::kDot || HasDynamicSizes(dot) ||
      !reduce->shape().IsArray() || dot->shape().IsZeroSized() ||
      !DimsOf(dot).lhs_batch_dims.empty() || !Match(reduce->operand(1), m::Zero()) ||
      CombinerOpcode(*reduce->to_apply()) != Opcode::kAdd || IsPred(dot->shape().element_type()) ||
      !SumsInItsType(dot))
    return nullptr;
  DotAttrs attrs = DimsOf(dot);
  const DimVec& reduced = reduce->attrs<ReduceAttrs>().dimensions;
  const DotDims from = OperandDims(attrs, dot->operand(0)->shape(), dot->operand(1)->shape());
  const SummedOperand a(dot->operand(0), from.lhs, reduced, attrs.lhs_contracting_dims);
  const SummedOperand b(dot->operand(1), from.rhs, reduced, attrs.rhs_contracting_dims);
  const double old_flops =
      DotFlops(attrs, a.x->shape(), dot->shape()) +
      ReduceFlops(dot, reduced, static_cast<double>(reduce->shape().element_count()));
  attrs.lhs_contracting_dims = a.contracting;
  attrs.rhs_contracting_dims = b.contracting;
  const double new_flops = a.Flops() + b.Flops() + DotFlops(attrs, a.SumShape(), reduce->shape());
  if (old_flops <= new_flops * CurrentDotChoices().raise_slice_and_reduce_through_dot_threshold)
    return nullptr;
  return rewriter.OpWithShape(Opcode::kDot, reduce->shape(),
                              {a.Sum(rewriter, reduce), b.Sum(rewriter, reduce)},
                              AttrsPtr::Make(std::move(attrs)));
}

constexpr Rule kRaiseThroughDotRules[] = {
    {"slice-of-dot", Opcode::kSlice, kReassociate, SliceOfDot},
    {"sum-of-dot", Opcode::kReduce, kReassociate, SumOfDot},
};

}  // namespace

std::span<const Rule> RaiseThroughDotRules() { return kRaiseThroughDotRules; }

}  // namespace hlo::algsimp
