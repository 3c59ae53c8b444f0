// Rules rooted at convolution.

#include "lib/ops/convolution_kind.h"
#include "passes/algsimp/rules.h"
#include "passes/util/same_kind.h"

namespace hlo::algsimp {
namespace {

const ConvolutionAttrs& Conv(const Instruction* op) { return op->attrs<ConvolutionAttrs>(); }

// A convolution of nothing  =>  0
Instruction* ConvOfNothing(Instruction* conv, Rewriter& rewriter) {
  if (conv->shape().has_dynamic_dims()) return nullptr;
  if (!conv->shape().IsZeroSized() && !conv->operand(0)->shape().IsZeroSized() &&
      !conv->operand(1)->shape().IsZeroSized())
    return nullptr;
  return rewriter.ZeroLike(conv);
}

// The padding of operand `i` with zeros that leaves batch and feature dimensions alone; null for
// others, and for sparse operands, whose stored values lie elsewhere.
const PaddingConfig* ZeroPadding(const Instruction* conv, int i, int64_t a, int64_t b) {
  if (conv->operand_count() != 2) return nullptr;
  const Instruction* pad = conv->operand(i);
  if (pad->opcode() != Opcode::kPad || pad->shape().has_dynamic_dims() ||
      !Match(pad->operand(1), m::Zero()))
    return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  for (int64_t dim : {a, b}) {
    if (padding[static_cast<int>(dim)] != PaddingDim{}) return nullptr;
  }
  return &padding;
}

Instruction* WithWindow(Rewriter& rewriter, const Instruction* conv, Instruction* lhs,
                        Instruction* rhs, Window window) {
  ConvolutionAttrs attrs = Conv(conv);
  attrs.window = std::move(window);
  return rewriter.OpWithShape(Opcode::kConvolution, conv->shape(), {lhs, rhs},
                              AttrsPtr::Make(std::move(attrs)));
}

// convolution(pad(x, 0), k)  =>  convolution(x, k) with wider padding and base dilation
Instruction* ConvOfPad(Instruction* conv, Rewriter& rewriter) {
  const ConvDimNumbers& dims = Conv(conv).dim_labels;
  const PaddingConfig* padding = ZeroPadding(conv, 0, dims.input_batch, dims.input_feature);
  if (padding == nullptr) return nullptr;
  Window window = Conv(conv).window;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& at = window.dims[i];
    const PaddingDim& extra = (*padding)[static_cast<int>(dims.input_spatial[i])];
    if (extra == PaddingDim{}) continue;
    const bool plain = at.pad_low == 0 && at.pad_high == 0 && at.base_dilation == 1;
    if (at.base_dilation != 1 || (extra.interior != 0 && !plain)) return nullptr;
    at.pad_low += extra.low;
    at.pad_high += extra.high;
    at.base_dilation = 1 + extra.interior;
  }
  return WithWindow(rewriter, conv, conv->operand(0)->operand(0), conv->operand(1),
                    std::move(window));
}

// convolution(x, pad(k, 0)) with interior padding  =>  convolution(x, k) with window dilation
Instruction* ConvOfPaddedKernel(Instruction* conv, Rewriter& rewriter) {
  const ConvDimNumbers& dims = Conv(conv).dim_labels;
  const PaddingConfig* padding =
      ZeroPadding(conv, 1, dims.kernel_input_feature, dims.kernel_output_feature);
  if (padding == nullptr) return nullptr;
  Instruction* kernel = conv->operand(1)->operand(0);
  Window window = Conv(conv).window;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& at = window.dims[i];
    const auto dim = static_cast<int>(dims.kernel_spatial[i]);
    const PaddingDim& extra = (*padding)[dim];
    if (extra.low != 0 || extra.high != 0) return nullptr;
    if (extra.interior == 0) continue;
    if (at.window_dilation != 1) return nullptr;
    at.window_dilation = 1 + extra.interior;
    at.size = kernel->shape().dim(dim);
  }
  return WithWindow(rewriter, conv, conv->operand(0), kernel, std::move(window));
}

bool IsPlain(const WindowDim& dim) {
  return dim.stride == 1 && dim.pad_low == 0 && dim.pad_high == 0 && dim.base_dilation == 1 &&
         dim.window_dilation == 1 && !dim.reversal;
}

// convolution(x, k) where the kernel is larger than the input  =>  convolution(reverse(k), x)
// The window then runs over the kernel: it starts where the last element of the input meets the
// first of the kernel.
Instruction* ConvSwapped(Instruction* conv, Rewriter& rewriter) {
  const ConvolutionAttrs& attrs = Conv(conv);
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1 ||
      attrs.convolution_kind != ConvolutionKind::kUnset ||
      !(attrs.sparsity_config == SparsityConfig{}) || conv->shape().has_dynamic_dims() ||
      conv->operand(0)->shape().has_dynamic_dims() || conv->operand(1)->shape().has_dynamic_dims())
    return nullptr;
  const ConvDimNumbers& dims = attrs.dim_labels;
  Window window;
  DimVec reversed;
  int64_t kernel_elements = 1;
  int64_t input_elements = 1;
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const WindowDim& old = attrs.window.dims[i];
    const int64_t input = conv->operand(0)->shape().dim(static_cast<int>(dims.input_spatial[i]));
    if (input == old.size && IsPlain(old)) {  // contracted as a whole: both ways are alike
      window.dims.push_back(old);
      continue;
    }
    kernel_elements *= old.size;
    const bool transposed_point = input == 1 && old.stride == 1 && old.window_dilation == 1 &&
                                  old.pad_low == old.size - 1 && old.pad_high == old.size - 1;
    input_elements *= transposed_point ? old.size : input;
    const int64_t shift = old.DilatedBase(input) - old.DilatedWindow();
    WindowDim swapped;
    swapped.size = input;
    swapped.stride = old.stride;
    swapped.pad_low = old.pad_low + shift;
    swapped.pad_high = old.pad_high + shift;
    swapped.base_dilation = old.window_dilation;
    swapped.window_dilation = old.base_dilation;
    swapped.reversal = true;
    window.dims.push_back(swapped);
    if (!old.reversal) reversed.push_back(dims.kernel_spatial[i]);
  }
  if (input_elements >= kernel_elements) return nullptr;
  ConvolutionAttrs swapped = attrs;
  swapped.window = std::move(window);
  ConvDimNumbers& to = swapped.dim_labels;
  to.input_batch = dims.kernel_output_feature;
  to.input_feature = dims.kernel_input_feature;
  to.input_spatial = dims.kernel_spatial;
  to.kernel_output_feature = dims.input_batch;
  to.kernel_input_feature = dims.input_feature;
  to.kernel_spatial = dims.input_spatial;
  to.output_batch = dims.output_feature;
  to.output_feature = dims.output_batch;
  if (swapped.operand_precision.values.size() == 2)
    std::swap(swapped.operand_precision.values[0], swapped.operand_precision.values[1]);
  absl::c_sort(reversed);
  Instruction* kernel = conv->operand(1);
  if (!reversed.empty()) kernel = rewriter.Reverse(kernel, reversed);
  return rewriter.OpWithShape(Opcode::kConvolution, conv->shape(), {kernel, conv->operand(0)},
                              AttrsPtr::Make(std::move(swapped)));
}

// A depthwise convolution whose windows see whole dimensions  =>  sum(x * broadcast(k)), reshaped
Instruction* ConvToMultiply(Instruction* conv, Rewriter& rewriter) {
  const ConvolutionAttrs& attrs = Conv(conv);
  const ConvDimNumbers& dims = attrs.dim_labels;
  Instruction* x = conv->operand(0);
  Instruction* kernel = conv->operand(1);
  const ElementType type = conv->shape().element_type();
  const int64_t features = x->shape().dim(static_cast<int>(dims.input_feature));
  if (attrs.feature_group_count != features || attrs.batch_group_count != 1 ||
      kernel->shape().dim(static_cast<int>(dims.kernel_input_feature)) != 1 ||
      kernel->shape().dim(static_cast<int>(dims.kernel_output_feature)) != features ||
      !(attrs.sparsity_config == SparsityConfig{}) || !CanUpcast(x->shape().element_type(), type) ||
      !CanUpcast(kernel->shape().element_type(), type) || type == ElementType::kPred ||
      conv->shape().has_dynamic_dims() || conv->shape().IsZeroSized())
    return nullptr;
  // For each dimension of the result the one of the input, and of the kernel (-1: none).
  const auto rank = static_cast<size_t>(conv->shape().rank());
  DimVec from_input(rank), from_kernel(rank, -1), summed;
  from_input[static_cast<size_t>(dims.output_batch)] = dims.input_batch;
  from_input[static_cast<size_t>(dims.output_feature)] = dims.input_feature;
  from_kernel[static_cast<size_t>(dims.output_feature)] = dims.kernel_output_feature;
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const WindowDim& dim = attrs.window.dims[i];
    const auto at = static_cast<size_t>(dims.output_spatial[i]);
    if (!IsPlain(dim) || (dim.size != 1 && (conv->shape().dim(static_cast<int>(at)) != 1 ||
                                            ReadsReversed(attrs, dim))))
      return nullptr;
    from_input[at] = dims.input_spatial[i];
    if (dim.size == 1) continue;
    from_kernel[at] = dims.kernel_spatial[i];
    summed.push_back(static_cast<int64_t>(at));
  }
  absl::c_sort(summed);
  if (!absl::c_is_sorted(from_input)) x = rewriter.Transpose(x, from_input);
  if (x->shape().element_type() != type) x = rewriter.Convert(x, type);
  DimVec order, sizes, places;  // of the kernel in the order of the result
  for (size_t i = 0; i < rank; ++i) {
    if (from_kernel[i] < 0) continue;
    order.push_back(from_kernel[i]);
    sizes.push_back(kernel->shape().dim(static_cast<int>(from_kernel[i])));
    places.push_back(static_cast<int64_t>(i));
  }
  for (int64_t dim = 0; dim < kernel->shape().rank(); ++dim) {
    if (!Contains(order, dim)) order.push_back(dim);
  }
  if (!absl::c_is_sorted(order)) kernel = rewriter.Transpose(kernel, order);
  if (kernel->shape().element_type() != type) kernel = rewriter.Convert(kernel, type);
  kernel = rewriter.Broadcast(rewriter.Reshape(kernel, sizes), x->shape().dims(), places);
  Instruction* product = rewriter.Multiply(x, kernel);
  if (summed.empty()) return product;
  Instruction* sum = rewriter.Reduce(product, rewriter.Constant(Literal::Zero(type)), summed,
                                     ScalarComputation(rewriter.module(), Opcode::kAdd, type));
  return rewriter.Reshape(sum, conv->shape().dims());
}

int64_t PlaceInLayout(Shape shape, int64_t dim) {
  const auto& order = shape.layout().minor_to_major;
  return absl::c_find(order, dim) - order.begin();
}

// A convolution with a kernel of one point, features being contiguous  =>
//     bitcast(dot(bitcast(x), bitcast(k)))
// One point has no order, and nothing between it and the next.
Instruction* ConvToDot(Instruction* conv, Rewriter& rewriter) {
  const ConvolutionAttrs& attrs = Conv(conv);
  const ConvDimNumbers& dims = attrs.dim_labels;
  Instruction* x = conv->operand(0);
  Instruction* kernel = conv->operand(1);
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1 ||
      !(attrs.sparsity_config == SparsityConfig{}) || conv->shape().IsZeroSized())
    return nullptr;
  for (const Shape shape : {x->shape(), kernel->shape(), conv->shape()}) {
    if (!shape.has_layout() || shape.has_dynamic_dims() || !shape.layout().tiles.empty())
      return nullptr;
  }
  for (const WindowDim& dim : attrs.window.dims) {
    if (dim.size != 1 || dim.stride != 1 || dim.pad_low != 0 || dim.pad_high != 0 ||
        dim.base_dilation != 1)
      return nullptr;
  }
  if (!(x->shape().layout() == conv->shape().layout()) || dims.input_batch != dims.output_batch ||
      dims.input_feature != dims.output_feature || dims.input_spatial != dims.output_spatial ||
      PlaceInLayout(x->shape(), dims.input_feature) != 0 ||
      PlaceInLayout(kernel->shape(), dims.kernel_input_feature) <
          PlaceInLayout(kernel->shape(), dims.kernel_output_feature))
    return nullptr;
  const int64_t inputs = x->shape().dim(static_cast<int>(dims.input_feature));
  const int64_t outputs = conv->shape().dim(static_cast<int>(dims.output_feature));
  const int64_t rows = inputs == 0 ? 0 : x->shape().element_count() / inputs;
  const auto matrix = [](Shape like, int64_t a, int64_t b) {
    return Shape::Array(like.element_type(), DimVec{a, b});
  };
  DotAttrs dot;
  dot.lhs_contracting_dims = {1};
  dot.rhs_contracting_dims = {0};
  dot.operand_precision = attrs.operand_precision;
  dot.algorithm = attrs.algorithm;
  Instruction* product =
      rewriter.OpWithShape(Opcode::kDot, matrix(conv->shape(), rows, outputs),
                           {rewriter.Bitcast(x, matrix(x->shape(), rows, inputs)),
                            rewriter.Bitcast(kernel, matrix(kernel->shape(), inputs, outputs))},
                           AttrsPtr::Make(std::move(dot)));
  return rewriter.Bitcast(product, conv->shape());
}

constexpr Rule kConvolutionRules[] = {
    {"convolution-of-nothing", Opcode::kConvolution, kExact, ConvOfNothing},
};
constexpr Rule kFoldPadRules[] = {
    {"convolution-of-pad", Opcode::kConvolution, kExceptSpecials, ConvOfPad},
    {"convolution-of-padded-kernel", Opcode::kConvolution, kExceptSpecials, ConvOfPaddedKernel},
};
constexpr Rule kConvolutionSwapRules[] = {
    {"convolution-swap", Opcode::kConvolution, kReassociate, ConvSwapped},
};
constexpr Rule kFreeConvolutionRules[] = {
    {"convolution-to-multiply", Opcode::kConvolution, kReassociate, ConvToMultiply},
};
constexpr Rule kConvolutionToDotRules[] = {
    {"convolution-to-dot", Opcode::kConvolution, kReassociate, ConvToDot},
};

}  // namespace

std::span<const Rule> ConvolutionRules() { return kConvolutionRules; }
std::span<const Rule> FoldPadRules() { return kFoldPadRules; }
std::span<const Rule> ConvolutionSwapRules() { return kConvolutionSwapRules; }
std::span<const Rule> FreeConvolutionRules() { return kFreeConvolutionRules; }
std::span<const Rule> ConvolutionToDotRules() { return kConvolutionToDotRules; }

}  // namespace hlo::algsimp
