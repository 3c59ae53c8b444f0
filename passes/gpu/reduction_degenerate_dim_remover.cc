#include "passes/gpu/reduction_degenerate_dim_remover.h"

#include <algorithm>
#include <optional>

#include "lib/analysis/region.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

bool HasUnitDim(Shape shape) { return absl::c_linear_search(shape.dims(), 1); }

// Without the dimensions of size 1; the others lie as before.
Shape WithoutUnitDims(Shape shape) {
  DimVec dims, place(static_cast<size_t>(shape.rank()), -1);
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    place[static_cast<size_t>(d)] = static_cast<int64_t>(dims.size());
    dims.push_back(shape.dim(d));
  }
  Layout layout = shape.WithMissingLayoutsFilled().layout();
  DimVec order;
  for (const int64_t d : layout.minor_to_major) {
    if (place[static_cast<size_t>(d)] >= 0) order.push_back(place[static_cast<size_t>(d)]);
  }
  layout.minor_to_major = order;
  return Shape::Array(shape.element_type(), dims).WithLayout(layout);
}

// The reduced dimensions that are left, by their new numbers.
DimVec LargeReducedDims(const Instruction& reduce) {
  DimVec left;
  const Shape input = reduce.operand(0)->shape();
  int64_t number = 0;
  for (int d = 0; d < input.rank(); ++d) {
    if (input.dim(d) == 1) continue;
    if (Contains(reduce.attrs<ReduceAttrs>().dimensions, d)) left.push_back(number);
    ++number;
  }
  return left;
}

}  // namespace

bool ReductionDegenerateDimRemover::Matches(const Instruction& instruction) const {
  const int count = instruction.operand_count() / 2;
  for (int i = 0; i < count; ++i) {
    const Shape shape = instruction.operand(i)->shape();
    if (shape.has_dynamic_dims() || !HasUnitDim(shape)) return false;
  }
  if (!LargeReducedDims(instruction).empty()) return true;
  // A bitcast, where the elements of the result lie as those of the operand.
  const auto order = [](Shape shape) { return WithoutUnitDims(shape).layout().minor_to_major; };
  const std::optional<Opcode> combiner = CombinerOpcode(*instruction.to_apply());
  return count == 1 && combiner && IsIdentityOf(*combiner, *instruction.operand(1)) &&
         order(instruction.operand(0)->shape()) == order(instruction.shape());
}

absl::StatusOr<Instruction*> ReductionDegenerateDimRemover::Expand(Instruction* reduce,
                                                                   Rewriter& rewriter) {
  DimVec dims = LargeReducedDims(*reduce);
  if (dims.empty()) return rewriter.Bitcast(reduce->operand(0), reduce->shape());
  std::vector<Instruction*> inputs;
  std::vector<Shape> results;
  for (int i = 0; i < reduce->operand_count() / 2; ++i) {
    Instruction* const input = reduce->operand(i);
    inputs.push_back(rewriter.Bitcast(input, WithoutUnitDims(input->shape())));
    results.push_back(WithoutUnitDims(ResultOf(*reduce, i)));
  }
  return ReducedAs(*reduce, inputs, results, std::move(dims), rewriter);
}

HLO_DEFINE_PASS(ReductionDegenerateDimRemover)

}  // namespace hlo
