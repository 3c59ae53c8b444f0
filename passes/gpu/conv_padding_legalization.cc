#include "passes/gpu/conv_padding_legalization.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/support/saturate.h"
#include "passes/gpu/conv_windows.h"
#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

enum class ConvForm { kOther, kForward, kInputGradient, kKernelGradient };

struct FormRow {
  std::string_view target;
  ConvForm form;
};
constexpr FormRow kForms[] = {{kConvForward, ConvForm::kForward},
                              {kConvBiasActivation, ConvForm::kForward},
                              {kConvForwardGraph, ConvForm::kForward},
                              {kConvBackwardInput, ConvForm::kInputGradient},
                              {kConvBackwardFilter, ConvForm::kKernelGradient}};
// By ConvolutionKind.
constexpr ConvForm kFormsOfKinds[] = {ConvForm::kOther, ConvForm::kForward,
                                      ConvForm::kKernelGradient, ConvForm::kInputGradient};

bool IsCall(const Instruction& conv) { return conv.opcode() == Opcode::kCustomCall; }

const Window& WindowOf(const Instruction& conv) {
  return IsCall(conv) ? *conv.attrs<CustomCallAttrs>().window
                      : conv.attrs<ConvolutionAttrs>().window;
}
const ConvDimNumbers& DimsOf(const Instruction& conv) {
  return IsCall(conv) ? *conv.attrs<CustomCallAttrs>().dim_labels
                      : conv.attrs<ConvolutionAttrs>().dim_labels;
}

// Whether the window slides over dimensions that the array has.
bool HasSpatial(Shape shape, const DimVec& spatial, const Window& window) {
  return shape.IsArray() && spatial.size() == window.dims.size() &&
         absl::c_all_of(spatial, [shape](int64_t d) { return d < shape.rank(); });
}

ConvForm FormOfCall(const Instruction& call) {
  const auto& attrs = call.attrs<CustomCallAttrs>();
  const auto* const row = absl::c_find_if(
      kForms, [&](const FormRow& known) { return known.target == attrs.custom_call_target; });
  if (row == std::end(kForms) || !attrs.window || !attrs.dim_labels || !call.shape().IsTuple() ||
      call.shape().element_count_of_tuple() == 0 || call.operand_count() < 2)
    return ConvForm::kOther;
  const LibraryCall* const entry = FindLibraryCall(call);
  if (entry != nullptr && !CheckLibraryCall(*entry, call).ok()) return ConvForm::kOther;
  const ConvDimNumbers& dims = *attrs.dim_labels;
  const Shape input =
      row->form == ConvForm::kInputGradient ? call.shape().element(0) : call.operand(0)->shape();
  const bool has_input = HasSpatial(input, dims.input_spatial, *attrs.window);
  const bool has_kernel = row->form != ConvForm::kForward ||
                          HasSpatial(call.operand(1)->shape(), dims.kernel_spatial, *attrs.window);
  return has_input && has_kernel ? row->form : ConvForm::kOther;
}

ConvForm FormOf(const Instruction& conv) {
  if (IsCall(conv)) return FormOfCall(conv);
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  if (attrs.sparsity_config != SparsityConfig() || conv.shape().has_dynamic_dims())
    return ConvForm::kOther;
  return kFormsOfKinds[static_cast<size_t>(attrs.convolution_kind)];
}

// The window whose paddings are to be even: of a convolution for the gradient of its input that
// which cuDNN is told.
std::optional<Window> GradientWindow(const Instruction& conv, ConvForm form) {
  const bool is_as_written = IsCall(conv) || form == ConvForm::kKernelGradient;
  return is_as_written ? WindowOf(conv) : WindowOfInputGradient(conv);
}

bool IsUneven(const WindowDim& dim) { return dim.pad_low != dim.pad_high; }
bool IsNegative(const WindowDim& dim) { return dim.pad_low < 0 || dim.pad_high < 0; }
bool HasKernelHoles(const WindowDim& dim) { return dim.window_dilation != 1; }

// The convolution with other operands and window.
Instruction* WithWindow(const Instruction& conv, Shape shape,
                        absl::Span<Instruction* const> operands, const Window& window) {
  Instruction* const other = conv.parent()->AddClone(conv, shape, operands);
  const auto set_window = [&](auto attrs) {
    attrs.window = window;
    other->SetAttrs(std::move(attrs));
  };
  if (IsCall(conv)) {
    set_window(conv.attrs<CustomCallAttrs>());
  } else {
    set_window(conv.attrs<ConvolutionAttrs>());
  }
  return other;
}

Instruction* Padded(Instruction* x, const PaddingConfig& padding, Rewriter& b) {
  Instruction* const padded = b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
  padded->set_metadata(x->metadata());
  return padded;
}
PaddingConfig NoPadding(Shape shape) {
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(shape.rank()));
  return padding;
}

// ---- forward ----

// Moves positive padding and holes from the window into the array.
Instruction* PaddedInput(Instruction* x, Window& window, const DimVec& spatial, Rewriter& b) {
  PaddingConfig padding = NoPadding(x->shape());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    auto& of_array = padding.dims[static_cast<size_t>(spatial[i])];
    of_array.low = std::max<int64_t>(dim.pad_low, 0);
    of_array.high = std::max<int64_t>(dim.pad_high, 0);
    of_array.interior = dim.base_dilation - 1;
    dim.pad_low = std::min<int64_t>(dim.pad_low, 0);
    dim.pad_high = std::min<int64_t>(dim.pad_high, 0);
    dim.base_dilation = 1;
  }
  return Padded(x, padding, b);
}

// Whether negative padding leaves something to slide over, or just nothing.
bool CanSlice(Shape input, const Window& window, const DimVec& spatial) {
  for (size_t i = 0; i < window.dims.size(); ++i) {
    const WindowDim& dim = window.dims[i];
    const int64_t size = dim.DilatedBase(input.dim(static_cast<int>(spatial[i])));
    if (SaturatingAdd(SaturatingAdd(size, dim.pad_low), dim.pad_high) < 0) return false;
  }
  return true;
}

// Cuts off what negative padding leaves out.
Instruction* SlicedInput(Instruction* x, Window& window, const DimVec& spatial, Rewriter& b) {
  DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    const auto d = static_cast<size_t>(spatial[i]);
    if (dim.pad_low < 0) starts[d] -= std::exchange(dim.pad_low, 0);
    if (dim.pad_high < 0) limits[d] += std::exchange(dim.pad_high, 0);
  }
  return b.Slice(x, starts, limits);
}

Instruction* DilatedKernel(Instruction* kernel, Window& window, const DimVec& spatial,
                           Rewriter& b) {
  PaddingConfig padding = NoPadding(kernel->shape());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    padding.dims[static_cast<size_t>(spatial[i])].interior = dim.window_dilation - 1;
    dim.size = dim.DilatedWindow();
    dim.window_dilation = 1;
  }
  return Padded(kernel, padding, b);
}

Instruction* LegalForward(const Instruction& conv, Rewriter& b) {
  Window window = WindowOf(conv);
  const ConvDimNumbers& dims = DimsOf(conv);
  std::vector<Instruction*> operands = conv.operand_vector();
  if (absl::c_any_of(window.dims, IsUneven) || absl::c_any_of(window.dims, IsBaseDilated))
    operands[0] = PaddedInput(operands[0], window, dims.input_spatial, b);
  if (absl::c_any_of(window.dims, IsNegative))
    operands[0] = SlicedInput(operands[0], window, dims.input_spatial, b);
  if (absl::c_any_of(window.dims, HasKernelHoles))
    operands[1] = DilatedKernel(operands[1], window, dims.kernel_spatial, b);
  return WithWindow(conv, conv.shape(), operands, window);
}

// ---- gradients ----

// The larger padding becomes the smaller; what is missing is in the input.
Instruction* LegalKernelGradient(const Instruction& conv, const Window& gradient, Rewriter& b) {
  Window window = WindowOf(conv);
  std::vector<Instruction*> operands = conv.operand_vector();
  PaddingConfig padding = NoPadding(operands[0]->shape());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    const WindowDim& from = gradient.dims[i];
    const int64_t even = std::min(from.pad_low, from.pad_high);
    auto& of_array = padding.dims[static_cast<size_t>(DimsOf(conv).input_spatial[i])];
    of_array.low = from.pad_low - even;
    of_array.high = from.pad_high - even;
    window.dims[i].pad_low -= of_array.low;
    window.dims[i].pad_high -= of_array.high;
  }
  operands[0] = Padded(operands[0], padding, b);
  return WithWindow(conv, conv.shape(), operands, window);
}

// The larger padding becomes the smaller, by which the result grows. A convolution of an input that
// is padded less yields more; as a convolution of gradients it is padded more.
Instruction* LegalInputGradient(const Instruction& conv, const Window& gradient, Rewriter& b) {
  const bool is_call = IsCall(conv);
  const int64_t sign = is_call ? -1 : 1;
  Window window = WindowOf(conv);
  const ConvDimNumbers& dims = DimsOf(conv);
  const Shape result = is_call ? conv.shape().element(0) : conv.shape();
  Shape larger = result;
  DimVec starts(static_cast<size_t>(result.rank()), 0);
  DimVec limits(result.dims().begin(), result.dims().end());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    const auto d = static_cast<size_t>((is_call ? dims.input_spatial : dims.output_spatial)[i]);
    const int64_t excess = gradient.dims[i].pad_low - gradient.dims[i].pad_high;
    const int64_t low = std::max<int64_t>(excess, 0), high = std::max<int64_t>(-excess, 0);
    starts[d] += low;
    limits[d] += low;
    larger = larger.WithDim(static_cast<int>(d), result.dim(static_cast<int>(d)) + low + high);
    window.dims[i].pad_low += sign * low;
    window.dims[i].pad_high += sign * high;
  }
  if (!is_call) {
    Instruction* const even = WithWindow(conv, larger, conv.operand_vector(), window);
    return b.Slice(even, starts, limits);
  }
  Instruction* const even =
      WithWindow(conv, conv.shape().WithElement(0, larger), conv.operand_vector(), window);
  std::vector<Instruction*> values = {b.Slice(b.GetTupleElement(even, 0), starts, limits)};
  for (int i = 1; i < conv.shape().element_count_of_tuple(); ++i)
    values.push_back(b.GetTupleElement(even, i));
  return b.Tuple(values);
}

}  // namespace

bool ConvPaddingLegalization::Matches(const Instruction& conv) const {
  const ConvForm form = FormOf(conv);
  if (form == ConvForm::kOther) return false;
  if (form == ConvForm::kForward) {
    const Window& window = WindowOf(conv);
    return (absl::c_any_of(window.dims, IsUneven) || absl::c_any_of(window.dims, IsNegative) ||
            absl::c_any_of(window.dims, IsBaseDilated)) &&
           CanSlice(conv.operand(0)->shape(), window, DimsOf(conv).input_spatial);
  }
  const std::optional<Window> gradient = GradientWindow(conv, form);
  return gradient && absl::c_any_of(gradient->dims, IsUneven) &&
         !absl::c_any_of(gradient->dims, IsNegative);
}

absl::StatusOr<Instruction*> ConvPaddingLegalization::Expand(Instruction* conv,
                                                             Rewriter& rewriter) {
  const ConvForm form = FormOf(*conv);
  if (form == ConvForm::kForward) return LegalForward(*conv, rewriter);
  const Window gradient = *GradientWindow(*conv, form);
  return form == ConvForm::kInputGradient ? LegalInputGradient(*conv, gradient, rewriter)
                                          : LegalKernelGradient(*conv, gradient, rewriter);
}

HLO_DEFINE_PASS(ConvPaddingLegalization)

}  // namespace hlo
