#include "passes/gpu/reduction_dimension_grouper.h"

#include <algorithm>

#include "passes/gpu/reduction_shape.h"

namespace hlo {

bool ReductionDimensionGrouper::Matches(const Instruction& instruction) const {
  for (int i = 0; i < instruction.operand_count() / 2; ++i) {
    const Shape shape = instruction.operand(i)->shape();
    if (shape.has_dynamic_dims() || (shape.has_layout() && !shape.layout().IsRowMajor()))
      return false;
  }
  return ReducesNeighbours(instruction);
}

absl::StatusOr<Instruction*> ReductionDimensionGrouper::Expand(Instruction* reduce,
                                                               Rewriter& rewriter) {
  const DimVec& reduced = reduce->attrs<ReduceAttrs>().dimensions;
  const Shape shape = reduce->operand(0)->shape();
  DimVec sizes, dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dim(static_cast<int>(d));
    if (Contains(reduced, d) && Contains(reduced, d - 1)) {
      sizes.back() *= size;
      continue;
    }
    if (Contains(reduced, d)) dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(size);
  }
  std::vector<Instruction*> inputs;
  std::vector<Shape> results;
  for (int i = 0; i < reduce->operand_count() / 2; ++i) {
    Instruction* const input = reduce->operand(i);
    inputs.push_back(rewriter.Bitcast(input, Shape::Array(input->shape().element_type(), sizes)));
    inputs.back()->set_metadata(input->metadata());
    results.push_back(ResultOf(*reduce, i));
  }
  return ReducedAs(*reduce, inputs, results, std::move(dims), rewriter);
}

HLO_DEFINE_PASS(ReductionDimensionGrouper)

}  // namespace hlo
