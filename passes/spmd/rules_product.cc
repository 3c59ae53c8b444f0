// dot and convolution.
#include <numeric>

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

std::vector<RunningDim> DotDims(const Instruction& old) {
  const auto& attrs = old.attrs<DotAttrs>();
  std::vector<RunningDim> dims;
  int64_t out = 0;
  const auto add_both = [&](int64_t left, int64_t right, int64_t result) {
    dims.push_back(RunsAlong(old, 0, left, result));
    dims.back().in[1] = right;
  };
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i)
    add_both(attrs.lhs_batch_dims[i], attrs.rhs_batch_dims[i], out++);
  const auto add_free = [&](int operand, const DimVec& batch, const DimVec& contracting) {
    for (int64_t d = 0; d < old.operand(operand)->shape().rank(); ++d) {
      if (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)) continue;
      dims.push_back(RunsAlong(old, operand, d, out++));
    }
  };
  add_free(0, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  add_free(1, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size() && MayAddParts(old); ++i)
    add_both(attrs.lhs_contracting_dims[i], attrs.rhs_contracting_dims[i], -1);
  return dims;
}

absl::StatusOr<Parts> DivideDot(Partitioner& partitioner, const Instruction& old) {
  return DivideRuns(partitioner, old, ProductRuns(partitioner, old, DotDims(old)));
}

// Scales are cut with what they scale; blocks of one scale are not.
absl::StatusOr<Parts> DivideScaledDot(Partitioner& partitioner, const Instruction& old) {
  std::vector<RunningDim> dims = DotDims(old);
  for (int i = 0; i < 2; ++i) {
    const Shape scales = old.operand(i + 2)->shape();
    for (RunningDim& dim : dims) {
      const int64_t d = dim.in[static_cast<size_t>(i)];
      if (d < 0 || scales.rank() == 0 || scales.dim(static_cast<int>(d)) == 1) continue;
      dim.in[static_cast<size_t>(i) + 2] = d;
      const int64_t count = scales.dim(static_cast<int>(d));
      if (dim.out < 0) dim.groups = std::gcd(dim.groups, count);
    }
  }
  return DivideRuns(partitioner, old, ProductRuns(partitioner, old, std::move(dims)));
}

// Of a window that moves over the input.
RunningDim SpatialDim(const Instruction& old, const WindowDim& window, int64_t in, int64_t out) {
  RunningDim dim = RunsAlong(old, 0, in, out);
  dim.reads = {.first = -window.pad_low,
               .stride = window.stride,
               .count = window.DilatedWindow(),
               .dilation = window.base_dilation};
  return dim;
}

// Elements of the kernel, each of which all windows together read from a range of the input: of
// kernels as large as the input, where results are small.
RunningDim KernelDim(const Instruction& old, const WindowDim& window, int64_t in, int64_t kernel,
                     int64_t results) {
  RunningDim dim = RunsAlong(old, 1, kernel, -1);
  dim.in[0] = in;
  dim.reads = {.first = -window.pad_low,
               .stride = window.window_dilation,
               .count = (results - 1) * window.stride + 1};
  return dim;
}

std::vector<RunningDim> ConvolutionDims(const Instruction& old) {
  const auto& attrs = old.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& numbers = attrs.dim_labels;
  const bool has_groups = attrs.batch_group_count > 1 || attrs.feature_group_count > 1;
  std::vector<RunningDim> dims;
  if (attrs.batch_group_count == 1)
    dims.push_back(RunsAlong(old, 0, numbers.input_batch, numbers.output_batch));
  // Groups, as a whole: of batches or of features of the input.
  dims.push_back(RunsAlong(old, 1, numbers.kernel_output_feature, numbers.output_feature));
  if (has_groups) {
    const bool of_batches = attrs.batch_group_count > 1;
    dims.back().in[0] = of_batches ? numbers.input_batch : numbers.input_feature;
    dims.back().groups = of_batches ? attrs.batch_group_count : attrs.feature_group_count;
  }
  if (attrs.feature_group_count == 1 && MayAddParts(old)) {
    dims.push_back(RunsAlong(old, 0, numbers.input_feature, -1));
    dims.back().in[1] = numbers.kernel_input_feature;
  }
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const WindowDim& window = attrs.window.dims[i];
    const int64_t in = numbers.input_spatial[i], out = numbers.output_spatial[i];
    dims.push_back(SpatialDim(old, window, in, out));
    const int64_t results = old.shape().dim(static_cast<int>(out));
    if (window.base_dilation == 1 && !window.reversal && results > 0 && MayAddParts(old))
      dims.push_back(KernelDim(old, window, in, numbers.kernel_spatial[i], results));
  }
  return dims;
}

// Along spatial dimensions windows read over the borders of tiles.
absl::StatusOr<Parts> DivideConvolution(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& numbers = attrs.dim_labels;
  RunningOp op = ProductRuns(partitioner, old, ConvolutionDims(old));
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    ConvolutionAttrs own = attrs;
    for (size_t i = 0; i < own.window.dims.size(); ++i) {
      WindowDim& window = own.window.dims[i];
      const int64_t in = numbers.input_spatial[i], kernel = numbers.kernel_spatial[i];
      const int64_t out = numbers.output_spatial[i];
      if (run.operands[1]->tiles(kernel) > 1) {
        window.size = operands[1]->shape().dim(static_cast<int>(kernel));
        window.pad_low = window.pad_high = 0;
      } else if (run.result().tiles(out) > 1) {
        const ReadEdges edges =
            EdgesOf(*SpatialDim(old, window, in, out).reads, part.dim(static_cast<int>(out)));
        window.pad_low = edges.low;
        window.pad_high = edges.high;
      }
    }
    const int64_t tiles = run.result().tiles(numbers.output_feature);
    if (own.batch_group_count > 1) own.batch_group_count /= tiles;
    if (own.feature_group_count > 1) own.feature_group_count /= tiles;
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(own));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

constexpr SpmdRow kProductRows[] = {
    {Opcode::kDot, DivideDot},
    {Opcode::kScaledDot, DivideScaledDot},
    {Opcode::kConvolution, DivideConvolution},
};

}  // namespace

std::span<const SpmdRow> SpmdProductRows() { return kProductRows; }

}  // namespace hlo
