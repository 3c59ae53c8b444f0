#include "passes/gpu/conv_rewriter.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/support/strings.h"
#include "passes/gpu/conv_windows.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/library_f8.h"

namespace hlo {
namespace {

constexpr size_t kMostSpatialDims = 3;

struct ConvCall {
  std::string_view target;
  Instruction* lhs;
  Instruction* rhs;
  Window window;
  ConvDimNumbers dims;
  int64_t groups = 1;
};

const ConvolutionAttrs& AttrsOf(const Instruction& conv) { return conv.attrs<ConvolutionAttrs>(); }

template <class Condition>
bool AnyDim(const Window& window, const Condition& condition) {
  return absl::c_any_of(window.dims, condition);
}
bool IsReversed(const WindowDim& dim) { return dim.reversal; }
bool IsWindowDilated(const WindowDim& dim) { return dim.window_dilation != 1; }

// ---- gradients of the input ----

// A convolution over one dimension that was written as one over two: the kernel was given a spatial
// dimension of size 1.
bool IsOneDimensional(const Instruction& conv) {
  const Instruction& kernel = *conv.operand(1);
  if (AttrsOf(conv).window.dims.size() != 2 || kernel.opcode() != Opcode::kReshape) return false;
  const Shape shape = kernel.shape();
  return absl::c_any_of(AttrsOf(conv).dim_labels.kernel_spatial, [&](int64_t d) {
    DimVec without(shape.dims().begin(), shape.dims().end());
    without.erase(without.begin() + d);
    return shape.dim(static_cast<int>(d)) == 1 &&
           absl::MakeConstSpan(without) == kernel.operand(0)->shape().dims();
  });
}

// The kernel as it was before it was reversed, or null. A constant is reversed here.
Instruction* KernelBeforeReverse(const Instruction& conv, Rewriter& b) {
  const ConvolutionAttrs& attrs = AttrsOf(conv);
  Instruction* const kernel = conv.operand(1);
  const DimVec& spatial = attrs.dim_labels.kernel_spatial;
  if (kernel->opcode() == Opcode::kReverse) {
    DimVec reversed = kernel->attrs<ReverseAttrs>().dimensions, wanted = spatial;
    absl::c_sort(reversed);
    absl::c_sort(wanted);
    if (reversed == wanted) return kernel->operand(0);
  }
  if (IsOneDimensional(conv) && kernel->opcode() == Opcode::kReshape &&
      kernel->operand(0)->opcode() == Opcode::kReverse)
    return b.Reshape(kernel->operand(0)->operand(0), kernel->shape().dims());
  if (!AnyDim(attrs.window, IsBaseDilated)) return nullptr;
  if (kernel->IsConstant()) return b.Reverse(kernel, spatial);
  const bool is_point = !AnyDim(attrs.window, [](const WindowDim& dim) { return dim.size != 1; });
  return is_point ? kernel : nullptr;
}

std::optional<ConvCall> AsInputGradient(const Instruction& conv, Rewriter& b) {
  const ConvolutionAttrs& attrs = AttrsOf(conv);
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) return std::nullopt;
  const std::optional<Window> window = WindowOfInputGradient(conv);
  if (!window) return std::nullopt;
  Instruction* const kernel = KernelBeforeReverse(conv, b);
  if (kernel == nullptr) return std::nullopt;
  ConvCall call = {kConvBackwardInput, conv.operand(0), kernel, *window, attrs.dim_labels};
  std::swap(call.dims.input_batch, call.dims.output_batch);
  std::swap(call.dims.input_feature, call.dims.output_feature);
  std::swap(call.dims.input_spatial, call.dims.output_spatial);
  std::swap(call.dims.kernel_input_feature, call.dims.kernel_output_feature);
  return call;
}

// ---- gradients of the kernel ----

// Kernels of convolutions that are no gradients are smaller than their results. Dilated ones are
// gradients unless they are so in every dimension.
bool LooksForward(const Instruction& conv) {
  const ConvDimNumbers& dims = AttrsOf(conv).dim_labels;
  const Shape kernel = conv.operand(1)->shape(), result = conv.shape();
  size_t small = 0;
  for (size_t i = 0; i < dims.kernel_spatial.size(); ++i) {
    if (kernel.dim(static_cast<int>(dims.kernel_spatial[i])) <=
        result.dim(static_cast<int>(dims.output_spatial[i])))
      ++small;
  }
  if (small == dims.kernel_spatial.size() && AttrsOf(conv).batch_group_count == 1) return true;
  if (AnyDim(AttrsOf(conv).window, IsWindowDilated)) return false;
  return dims.kernel_spatial.empty() || small > 1 || (small == 1 && !IsOneDimensional(conv));
}

std::optional<ConvCall> AsKernelGradient(const Instruction& conv) {
  const ConvolutionAttrs& attrs = AttrsOf(conv);
  if (attrs.feature_group_count != 1 || LooksForward(conv)) return std::nullopt;
  const std::optional<Window> window = WindowOfKernelGradient(conv);
  if (!window) return std::nullopt;
  ConvCall call = {kConvBackwardFilter, conv.operand(0),        conv.operand(1), *window,
                   attrs.dim_labels,    attrs.batch_group_count};
  const ConvDimNumbers& dims = attrs.dim_labels;
  std::swap(call.dims.input_batch, call.dims.input_feature);
  call.dims.output_batch = dims.kernel_input_feature;
  call.dims.output_feature = dims.kernel_output_feature;
  call.dims.output_spatial = dims.kernel_spatial;
  call.dims.kernel_input_feature = dims.output_batch;
  call.dims.kernel_output_feature = dims.output_feature;
  call.dims.kernel_spatial = dims.output_spatial;
  return call;
}

// ---- the rest ----

bool IsForward(const Instruction& conv) {
  const ConvolutionAttrs& attrs = AttrsOf(conv);
  const auto reversed = absl::c_count_if(attrs.window.dims, IsReversed);
  const bool may_reverse = attrs.window.dims.size() == 2 && reversed == 2;
  return attrs.window.dims.size() <= kMostSpatialDims && (reversed == 0 || may_reverse) &&
         !conv.operand(0)->shape().IsZeroSized() && !conv.operand(1)->shape().IsZeroSized();
}

// x[…, g*n, …, f, …]  =>  x[…, n, …, g*f, …]: group by group of the batch, as features.
Instruction* GroupsToFeatures(Instruction* x, int64_t batch, int64_t feature, int64_t groups,
                              Rewriter& b) {
  DimVec split(x->shape().dims().begin(), x->shape().dims().end());
  split[static_cast<size_t>(batch)] /= groups;
  DimVec merged = split;
  split.insert(split.begin() + batch, groups);
  Instruction* const apart = b.Reshape(x, split);
  DimVec order;  // of the dimensions of `apart`: the group before the feature
  for (int64_t d = 0; d < apart->shape().rank(); ++d) {
    if (d == batch) continue;
    if ((d > batch ? d - 1 : d) == feature) order.push_back(batch);
    order.push_back(d);
  }
  merged[static_cast<size_t>(feature)] *= groups;
  return b.Reshape(b.Transpose(apart, order), merged);
}

ConvCall AsForward(const Instruction& conv, Rewriter& b) {
  const ConvolutionAttrs& attrs = AttrsOf(conv);
  ConvCall call = {kConvForward, conv.operand(0),  conv.operand(1),
                   attrs.window, attrs.dim_labels, attrs.feature_group_count};
  if (attrs.batch_group_count == 1) return call;
  call.groups = attrs.batch_group_count;
  call.lhs = GroupsToFeatures(call.lhs, attrs.dim_labels.input_batch,
                              attrs.dim_labels.input_feature, call.groups, b);
  return call;
}

absl::Status CheckTypes(const Instruction& conv, const ConvRewriterOptions& options) {
  const CudaCapability least = LeastForF8Convolutions(options.dnn_version);
  for (const Shape shape : {conv.shape(), conv.operand(0)->shape(), conv.operand(1)->shape()}) {
    const ElementType type = shape.element_type();
    const bool is_f8 = IsLibraryF8(type);
    if ((!IsFloat(type) && !IsInteger(type)) || (IsFloat(type) && BitWidth(type) <= 8 && !is_f8))
      return Unsupported(conv.loc(), "`{}` is a convolution with `{}`, for which there is no call",
                         conv.name(), shape);
    if (is_f8 && options.compute_capability < least)
      return Unsupported(conv.loc(),
                         "`{}` is a convolution with `{}`, which needs compute capability {}, not "
                         "{}",
                         conv.name(), shape, OptionValue(least),
                         OptionValue(options.compute_capability));
  }
  return absl::OkStatus();
}

std::string_view NameOf(std::string_view target) {
  if (target == kConvBackwardInput) return "cudnn-conv-bw-input";
  return target == kConvBackwardFilter ? "cudnn-conv-bw-filter" : "cudnn-conv";
}

Instruction* Made(const Instruction& conv, const ConvCall& call, Rewriter& b) {
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(call.target);
  attrs.window = call.window;
  attrs.dim_labels = call.dims;
  attrs.feature_group_count = call.groups;
  attrs.operand_precision = AttrsOf(conv).operand_precision;
  LibraryConfig<ConvConfig> config;
  config.config.conv_result_scale = 1;
  Computation& computation = *conv.parent();
  Instruction* const made = computation.Add(
      Opcode::kCustomCall, Shape::Tuple({conv.shape(), Shape::Array(ElementType::kU8, {0})}),
      {call.lhs, call.rhs}, AttrsPtr::Make(std::move(attrs)), {}, NameOf(call.target));
  made->set_metadata(conv.metadata());
  made->set_loc(conv.loc());
  made->mutable_extras().backend_config = ToJson(config);
  return b.GetTupleElement(made, 0);
}

// Sums of narrow integers wrap, cuDNN's end at the largest.
bool Wraps(ElementType type) { return IsInteger(type) && BitWidth(type) < 32; }

}  // namespace

bool ConvRewriter::Matches(const Instruction& conv) const {
  return !Wraps(conv.shape().element_type()) &&
         AttrsOf(conv).convolution_kind == ConvolutionKind::kUnset &&
         AttrsOf(conv).sparsity_config == SparsityConfig() && !conv.shape().has_dynamic_dims() &&
         IsForward(conv);
}

absl::StatusOr<Instruction*> ConvRewriter::Expand(Instruction* conv, Rewriter& rewriter) {
  RETURN_IF_ERROR(CheckTypes(*conv, options_));
  std::optional<ConvCall> call = AsInputGradient(*conv, rewriter);
  if (!call) call = AsKernelGradient(*conv);
  if (!call) call = AsForward(*conv, rewriter);
  return Made(*conv, *call, rewriter);
}

HLO_DEFINE_PASS(ConvRewriter)

}  // namespace hlo
