#include "passes/layout/convolution_canonicalization.h"

#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr int64_t kLeastLibraryBytes = 16;  // smaller arrays may not be aligned as libraries expect

// batch, spatial…, feature (of kernels: spatial…, input feature, output feature) counted up.
bool IsLibraryOrder(const ConvDimNumbers& dims) {
  const auto spatial = static_cast<int64_t>(dims.input_spatial.size());
  for (int64_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    if (dims.input_spatial[at] != i + 1 || dims.output_spatial[at] != i + 1 ||
        dims.kernel_spatial[at] != i)
      return false;
  }
  return dims.input_batch == 0 && dims.output_batch == 0 && dims.input_feature == spatial + 1 &&
         dims.output_feature == spatial + 1 && dims.kernel_input_feature == spatial &&
         dims.kernel_output_feature == spatial + 1;
}

}  // namespace

bool IsLibraryConvolution(const Instruction& conv) {
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  const ElementType type = conv.shape().element_type();
  if (conv.operand_count() != 2) return false;  // sparse
  for (const Instruction* operand : conv.operands()) {
    if (operand->shape().IsZeroSized() || operand->shape().byte_size() < kLeastLibraryBytes)
      return false;
  }
  return conv.shape().byte_size() >= kLeastLibraryBytes &&
         (type == ElementType::kF16 || type == ElementType::kF32) && !attrs.window.dims.empty() &&
         attrs.window.dims.size() <= 3 &&
         absl::c_none_of(attrs.window.dims, [](const WindowDim& dim) { return dim.reversal; }) &&
         IsLibraryOrder(attrs.dim_labels);
}

namespace {

absl::Status PutInLibraryOrder(Instruction* conv) {
  const uint32_t first_new = conv->module().id_limit();
  ConvolutionAttrs attrs = conv->attrs<ConvolutionAttrs>();
  const ConvDimNumbers old = attrs.dim_labels;
  const auto spatial = static_cast<int64_t>(old.input_spatial.size());
  DimVec input = {old.input_batch}, kernel, output = {old.output_batch};
  input.insert(input.end(), old.input_spatial.begin(), old.input_spatial.end());
  input.push_back(old.input_feature);
  kernel.insert(kernel.end(), old.kernel_spatial.begin(), old.kernel_spatial.end());
  kernel.push_back(old.kernel_input_feature);
  kernel.push_back(old.kernel_output_feature);
  output.insert(output.end(), old.output_spatial.begin(), old.output_spatial.end());
  output.push_back(old.output_feature);
  ConvDimNumbers& dims = attrs.dim_labels;
  dims.input_batch = dims.output_batch = 0;
  dims.input_feature = dims.output_feature = spatial + 1;
  dims.kernel_input_feature = spatial;
  dims.kernel_output_feature = spatial + 1;
  for (int64_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    dims.input_spatial[at] = dims.output_spatial[at] = i + 1;
    dims.kernel_spatial[at] = i;
  }
  Builder builder(conv);
  const Shape shape = conv->shape().WithDimensions(
      Permute(DimVec(conv->shape().dims().begin(), conv->shape().dims().end()), output));
  Instruction* moved = builder.OpWithShape(
      Opcode::kConvolution, shape,
      {builder.Transpose(conv->operand(0), input), builder.Transpose(conv->operand(1), kernel)},
      AttrsPtr::Make(std::move(attrs)));
  if (!conv->backend_config().empty())
    moved->mutable_extras().backend_config = std::string(conv->backend_config());
  Instruction* result = builder.Transpose(moved, InversePermutation(output));
  RETURN_IF_ERROR(builder.status());
  ReplaceKeepingExtras(conv, result, first_new);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ConvolutionCanonicalization::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Instruction* conv : module.entry()->PostOrder()) {
    if (conv->opcode() != Opcode::kConvolution || IsLibraryConvolution(*conv) ||
        conv->operand_count() != 2 || conv->shape().has_dynamic_dims())
      continue;
    if (!context.MayRewrite()) return changed;
    RETURN_IF_ERROR(PutInLibraryOrder(conv));
    context.Count("canonicalized");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(ConvolutionCanonicalization)

}  // namespace hlo
