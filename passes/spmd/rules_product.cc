// dot and convolution.
#include "absl/algorithm/container.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"

namespace hlo {
namespace {

Instruction* ZeroOfOperand(SpmdCode& code, const Instruction& old, int i) {
  return code.Zero(old.operand(i)->shape().element_type());
}

// Of partial products; dots of booleans are disjunctions.
Computation* ProductSum(Partitioner& partitioner, ElementType type) {
  return ScalarComputation(partitioner.code().state().module(),
                           IsPred(type) ? Opcode::kOr : Opcode::kAdd, type);
}

absl::StatusOr<Parts> DivideProduct(Partitioner& partitioner, const Instruction& old,
                                    std::vector<RunningDim> dims) {
  RunningOp op;
  op.dims = std::move(dims);
  op.filler = [&](SpmdCode& code, int i) { return ZeroOfOperand(code, old, i); };
  op.combiner = ProductSum(partitioner, old.shape().element_type());
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideDot(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<DotAttrs>();
  std::vector<RunningDim> dims;
  int64_t out = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i)
    dims.push_back({{attrs.lhs_batch_dims[i], attrs.rhs_batch_dims[i]}, out++});
  const auto add_free = [&](int operand, const DimVec& batch, const DimVec& contracting) {
    for (int64_t d = 0; d < old.operand(operand)->shape().rank(); ++d) {
      if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)) continue;
      dims.push_back(RunsAlong(old, operand, d, out++));
    }
  };
  add_free(0, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  add_free(1, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size(); ++i)
    dims.push_back({{attrs.lhs_contracting_dims[i], attrs.rhs_contracting_dims[i]}, -1});
  return DivideProduct(partitioner, old, std::move(dims));
}

// Along what is no spatial dimension, unless features or batches are in groups.
absl::StatusOr<Parts> DivideConvolution(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& numbers = attrs.dim_labels;
  std::vector<RunningDim> dims;
  if (attrs.batch_group_count == 1) {
    dims.push_back(RunsAlong(old, 0, numbers.input_batch, numbers.output_batch));
    if (attrs.feature_group_count == 1) {
      dims.push_back(RunsAlong(old, 1, numbers.kernel_output_feature, numbers.output_feature));
      dims.push_back(RunsAlong(old, 0, numbers.input_feature, -1));
      dims.back().in[1] = numbers.kernel_input_feature;
    }
  }
  return DivideProduct(partitioner, old, std::move(dims));
}

constexpr SpmdRow kProductRows[] = {
    {Opcode::kDot, DivideDot},
    {Opcode::kConvolution, DivideConvolution},
};

}  // namespace

std::span<const SpmdRow> SpmdProductRows() { return kProductRows; }

}  // namespace hlo
