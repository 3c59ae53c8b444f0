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

// Parts of sums of floats that are rounded to integers do not add up to the whole.
bool MayAddParts(const Instruction& old) {
  return IsFloat(old.operand(0)->shape().element_type()) <= IsFloat(old.shape().element_type()) &&
         IsFloat(old.operand(1)->shape().element_type()) <= IsFloat(old.shape().element_type());
}

RunningOp ProductRuns(Partitioner& partitioner, const Instruction& old,
                      std::vector<RunningDim> dims) {
  RunningOp op;
  op.dims = std::move(dims);
  op.filler = [&](SpmdCode& code, int i) { return ZeroOfOperand(code, old, i); };
  op.combiner = ProductSum(partitioner, old.shape().element_type());
  return op;
}

absl::StatusOr<Parts> DivideDot(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<DotAttrs>();
  std::vector<RunningDim> dims;
  int64_t out = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i)
    dims.push_back({{attrs.lhs_batch_dims[i], attrs.rhs_batch_dims[i]}, out++, {}});
  const auto add_free = [&](int operand, const DimVec& batch, const DimVec& contracting) {
    for (int64_t d = 0; d < old.operand(operand)->shape().rank(); ++d) {
      if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)) continue;
      dims.push_back(RunsAlong(old, operand, d, out++));
    }
  };
  add_free(0, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  add_free(1, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size() && MayAddParts(old); ++i)
    dims.push_back({{attrs.lhs_contracting_dims[i], attrs.rhs_contracting_dims[i]}, -1, {}});
  return DivideRuns(partitioner, old, ProductRuns(partitioner, old, std::move(dims)));
}

// Of a window along which it moves over the input without gaps between the elements of that.
RunningDim SpatialDim(const Instruction& old, const WindowDim& window, int64_t in, int64_t out) {
  RunningDim dim = RunsAlong(old, 0, in, out);
  dim.reads = {.first = -window.pad_low, .stride = window.stride, .count = window.DilatedWindow()};
  return dim;
}

// Along batches and features, unless they are in groups; along spatial dimensions windows read over
// the borders of tiles.
absl::StatusOr<Parts> DivideConvolution(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& numbers = attrs.dim_labels;
  std::vector<RunningDim> dims;
  if (attrs.batch_group_count == 1) {
    dims.push_back(RunsAlong(old, 0, numbers.input_batch, numbers.output_batch));
    if (attrs.feature_group_count == 1) {
      dims.push_back(RunsAlong(old, 1, numbers.kernel_output_feature, numbers.output_feature));
    }
    if (attrs.feature_group_count == 1 && MayAddParts(old)) {
      dims.push_back(RunsAlong(old, 0, numbers.input_feature, -1));
      dims.back().in[1] = numbers.kernel_input_feature;
    }
  }
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const WindowDim& window = attrs.window.dims[i];
    if (window.base_dilation == 1)
      dims.push_back(SpatialDim(old, window, numbers.input_spatial[i], numbers.output_spatial[i]));
  }
  RunningOp op = ProductRuns(partitioner, old, std::move(dims));
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const Placement& result) {
    ConvolutionAttrs own = attrs;
    for (size_t i = 0; i < own.window.dims.size(); ++i) {
      if (result.tiles(numbers.output_spatial[i]) == 1) continue;
      own.window.dims[i].pad_low = own.window.dims[i].pad_high = 0;
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(own));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

constexpr SpmdRow kProductRows[] = {
    {Opcode::kDot, DivideDot},
    {Opcode::kConvolution, DivideConvolution},
};

}  // namespace

std::span<const SpmdRow> SpmdProductRows() { return kProductRows; }

}  // namespace hlo
