// HLO convolution -> ConvSpec: arrays are dense row-major, so every role of a dimension becomes a
// stride.
#include "backends/cpu/library/conv.h"
#include "backends/cpu/product_thunk.h"
#include "lib/eval/contraction.h"
#include "lib/ops/convolution_kind.h"
#include "lib/support/status.h"

namespace hlo::cpu {
absl::StatusOr<std::unique_ptr<Thunk>> MakeConvThunk(const Instruction& conv,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options) {
  if (conv.operand_count() != 2)
    return Unsupported(conv.loc(), "platform `cpu` cannot run a sparse `convolution`");
  const ConvolutionAttrs& attrs = conv.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& dims = attrs.dim_labels;
  const Shape lhs = conv.operand(0)->shape();
  const Shape rhs = conv.operand(1)->shape();
  const Shape out = conv.shape();
  if (ProductType(conv) != out.element_type())
    return Unsupported(conv.loc(), "platform `cpu` sums convolutions in one kind of number");
  const DimVec ls = RowMajorStrides(lhs.dims());
  const DimVec rs = RowMajorStrides(rhs.dims());
  const DimVec os = RowMajorStrides(out.dims());
  const auto size = [](Shape shape, int64_t d) { return shape.dim(static_cast<int>(d)); };
  const auto stride = [](const DimVec& strides, int64_t d) {
    return strides[static_cast<size_t>(d)];
  };
  ConvSpec spec;
  spec.lhs_type = lhs.element_type();
  spec.rhs_type = rhs.element_type();
  spec.out_type = out.element_type();
  spec.threads = options.threads;
  spec.rhs_constant = buffers.rhs_unchanging;
  spec.batch = size(lhs, dims.input_batch);
  spec.in_features = size(lhs, dims.input_feature);
  spec.out_features = size(rhs, dims.kernel_output_feature);
  spec.feature_groups = attrs.feature_group_count;
  spec.batch_groups = attrs.batch_group_count;
  spec.lhs_batch = stride(ls, dims.input_batch);
  spec.lhs_feature = stride(ls, dims.input_feature);
  spec.rhs_in = stride(rs, dims.kernel_input_feature);
  spec.rhs_out = stride(rs, dims.kernel_output_feature);
  spec.out_batch = stride(os, dims.output_batch);
  spec.out_feature = stride(os, dims.output_feature);
  for (size_t i = 0; i < dims.input_spatial.size(); ++i) {
    const WindowDim window = i < attrs.window.dims.size() ? attrs.window.dims[i] : WindowDim();
    ConvDim dim;
    dim.in = size(lhs, dims.input_spatial[i]);
    dim.kernel = size(rhs, dims.kernel_spatial[i]);
    dim.out = size(out, dims.output_spatial[i]);
    dim.stride = window.stride;
    dim.pad_low = window.pad_low;
    dim.pad_high = window.pad_high;
    dim.lhs_dilation = window.base_dilation;
    dim.rhs_dilation = window.window_dilation;
    dim.reversed = ReadsReversed(attrs, window);
    dim.lhs_stride = stride(ls, dims.input_spatial[i]);
    dim.rhs_stride = stride(rs, dims.kernel_spatial[i]);
    dim.out_stride = stride(os, dims.output_spatial[i]);
    spec.spatial.push_back(dim);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<ConvKernel> kernel, MakeConv(spec, options.host));
  return std::make_unique<ProductThunk<ConvKernel, ConvBuffers>>(conv, std::move(kernel), buffers);
}

}  // namespace hlo::cpu
