// Sizes of what sums over dimensions or moves windows along them.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

bool MovesAlong(const WindowDim& window) { return window != WindowDim{}; }

}  // namespace

absl::Status InferReduce(SizeInference& in, Instruction* reduce) {
  const DimVec& reduced = reduce->attrs<ReduceAttrs>().dimensions;
  for (const OperandSize& known : in.OperandSizes(*reduce)) {
    if (known.operand >= reduce->operand_count() / 2)
      return Unsupported(reduce->loc(), "the initial value of `{}` is dynamic", reduce->name());
    if (absl::c_linear_search(reduced, known.dim)) continue;
    const int64_t before = absl::c_count_if(reduced, [&](int64_t dim) { return dim < known.dim; });
    for (int64_t leaf = 0; leaf < LeafCount(reduce->shape()); ++leaf)
      in.Set(reduce, leaf, known.dim - before, known.size);
  }
  return absl::OkStatus();
}

// Batch dimensions, free ones of the left, free ones of the right.
absl::Status InferDot(SizeInference& in, Instruction* dot) {
  const auto& attrs = dot->attrs<DotAttrs>();
  const int64_t batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t lhs_free = dot->operand(0)->shape().rank() - batches -
                           static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  for (const OperandSize& known : in.OperandSizes(*dot)) {
    if (known.operand > 1)
      return Unsupported(dot->loc(), "`{}` has an operand besides its factors that is dynamic",
                         dot->name());
    const bool is_lhs = known.operand == 0;
    const DimVec& batch = is_lhs ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
    const DimVec& summed = is_lhs ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
    if (absl::c_linear_search(summed, known.dim)) continue;
    if (const auto at = absl::c_find(batch, known.dim); at != batch.end()) {
      in.Set(dot, 0, at - batch.begin(), known.size);
      continue;
    }
    int64_t to = batches + (is_lhs ? 0 : lhs_free);
    for (int64_t dim = 0; dim < known.dim; ++dim)
      to += !absl::c_linear_search(batch, dim) && !absl::c_linear_search(summed, dim);
    in.Set(dot, 0, to, known.size);
  }
  return absl::OkStatus();
}

absl::Status InferConvolution(SizeInference& in, Instruction* convolution) {
  const auto& attrs = convolution->attrs<ConvolutionAttrs>();
  const ConvDimNumbers& labels = attrs.dim_labels;
  const bool grouped = attrs.feature_group_count != 1 || attrs.batch_group_count != 1;
  for (const OperandSize& known : in.OperandSizes(*convolution)) {
    const bool is_input = known.operand == 0;
    const DimVec& spatial = is_input ? labels.input_spatial : labels.kernel_spatial;
    const auto at = absl::c_find(spatial, known.dim);
    const auto number = static_cast<size_t>(at - spatial.begin());
    if (known.dim == (is_input ? labels.input_feature : labels.kernel_input_feature)) continue;
    if (is_input && known.dim == labels.input_batch && attrs.batch_group_count == 1) {
      in.Set(convolution, 0, labels.output_batch, known.size);
    } else if (!is_input && known.dim == labels.kernel_output_feature && !grouped) {
      in.Set(convolution, 0, labels.output_feature, known.size);
    } else if (is_input && at != spatial.end() && !MovesAlong(attrs.window.dims[number])) {
      in.Set(convolution, 0, labels.output_spatial[number], known.size);
    } else {
      return Unsupported(convolution->loc(), "dimension {} of `{}` may not be dynamic", known.dim,
                         convolution->operand(known.operand)->name());
    }
  }
  return absl::OkStatus();
}

absl::Status InferReduceWindow(SizeInference& in, Instruction* reduce_window) {
  Builder builder = BuilderFor(*reduce_window);
  const Window& window = reduce_window->attrs<ReduceWindowAttrs>().window;
  for (const OperandSize& known : in.OperandSizes(*reduce_window)) {
    if (known.operand >= reduce_window->operand_count() / 2) continue;
    const WindowDim& dim = window.dims[static_cast<size_t>(known.dim)];
    Instruction* size = known.size;
    if (MovesAlong(dim)) size = ValidWindow(builder, size, dim).output_size;
    for (int64_t leaf = 0; leaf < LeafCount(reduce_window->shape()); ++leaf)
      in.Set(reduce_window, leaf, known.dim, size);
  }
  return builder.status();
}

// What the windows of the first operand choose is added in their places.
absl::Status InferSelectAndScatter(SizeInference& in, Instruction* select_and_scatter) {
  for (const OperandSize& known : in.OperandSizes(*select_and_scatter)) {
    if (known.operand == 0) in.Set(select_and_scatter, 0, known.dim, known.size);
  }
  return absl::OkStatus();
}

}  // namespace hlo
