#include "passes/gpu/conv_padding_legalization.h"

#include <algorithm>
#include <cstdlib>

#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

enum class ConvForm { kOther, kForward, kInputGradient, kKernelGradient };

ConvForm FormOf(const Instruction& call) {
  const LibraryCall* const entry = FindLibraryCall(call);
  const auto& attrs = call.attrs<CustomCallAttrs>();
  if (entry == nullptr || !attrs.window || !attrs.dim_labels || !call.shape().IsTuple())
    return ConvForm::kOther;
  if (entry->target == kConvForward || entry->target == kConvBiasActivation)
    return ConvForm::kForward;
  if (entry->target == kConvBackwardInput) return ConvForm::kInputGradient;
  return entry->target == kConvBackwardFilter ? ConvForm::kKernelGradient : ConvForm::kOther;
}

const Window& WindowOf(const Instruction& call) { return *call.attrs<CustomCallAttrs>().window; }
const ConvDimNumbers& DimsOf(const Instruction& call) {
  return *call.attrs<CustomCallAttrs>().dim_labels;
}

bool IsUneven(const WindowDim& dim) { return dim.pad_low != dim.pad_high; }
bool IsNegative(const WindowDim& dim) { return dim.pad_low < 0 || dim.pad_high < 0; }
bool HasKernelHoles(const WindowDim& dim) { return dim.window_dilation != 1; }

// The call with other operands and window.
Instruction* WithWindow(const Instruction& call, Shape shape,
                        absl::Span<Instruction* const> operands, const Window& window) {
  CustomCallAttrs attrs = call.attrs<CustomCallAttrs>();
  attrs.window = window;
  Instruction* const other = call.parent()->AddClone(call, shape, operands);
  other->SetAttrs(std::move(attrs));
  return other;
}

Instruction* Padded(Instruction* x, const PaddingConfig& padding, Rewriter& b) {
  return b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
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

Instruction* LegalForward(const Instruction& call, Rewriter& b) {
  Window window = WindowOf(call);
  const ConvDimNumbers& dims = DimsOf(call);
  std::vector<Instruction*> operands = call.operand_vector();
  if (absl::c_any_of(window.dims, IsUneven) || absl::c_any_of(window.dims, IsBaseDilated))
    operands[0] = PaddedInput(operands[0], window, dims.input_spatial, b);
  if (absl::c_any_of(window.dims, IsNegative))
    operands[0] = SlicedInput(operands[0], window, dims.input_spatial, b);
  if (absl::c_any_of(window.dims, HasKernelHoles))
    operands[1] = DilatedKernel(operands[1], window, dims.kernel_spatial, b);
  return WithWindow(call, call.shape(), operands, window);
}

// ---- gradients ----

Instruction* LegalKernelGradient(const Instruction& call, Rewriter& b) {
  Window window = WindowOf(call);
  std::vector<Instruction*> operands = call.operand_vector();
  PaddingConfig padding = NoPadding(operands[0]->shape());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    const int64_t even = std::min(dim.pad_low, dim.pad_high);
    auto& of_array = padding.dims[static_cast<size_t>(DimsOf(call).input_spatial[i])];
    of_array.low = std::exchange(dim.pad_low, even) - even;
    of_array.high = std::exchange(dim.pad_high, even) - even;
  }
  operands[0] = Padded(operands[0], padding, b);
  return WithWindow(call, call.shape(), operands, window);
}

Instruction* LegalInputGradient(const Instruction& call, Rewriter& b) {
  Window window = WindowOf(call);
  const Shape result = call.shape().element(0);
  Shape larger = result;
  DimVec starts(static_cast<size_t>(result.rank()), 0);
  DimVec limits(result.dims().begin(), result.dims().end());
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    const auto d = static_cast<size_t>(DimsOf(call).input_spatial[i]);
    const int64_t more_low = std::max<int64_t>(dim.pad_low - dim.pad_high, 0);
    starts[d] += more_low;
    limits[d] += more_low;
    const int64_t grown = result.dim(static_cast<int>(d)) + std::abs(dim.pad_low - dim.pad_high);
    larger = larger.WithDim(static_cast<int>(d), grown);
    dim.pad_low = dim.pad_high = std::min(dim.pad_low, dim.pad_high);
  }
  Instruction* const even =
      WithWindow(call, call.shape().WithElement(0, larger), call.operand_vector(), window);
  std::vector<Instruction*> values = {b.Slice(b.GetTupleElement(even, 0), starts, limits)};
  for (int i = 1; i < call.shape().element_count_of_tuple(); ++i)
    values.push_back(b.GetTupleElement(even, i));
  return b.Tuple(values);
}

}  // namespace

bool ConvPaddingLegalization::Matches(const Instruction& call) const {
  const ConvForm form = FormOf(call);
  if (form == ConvForm::kOther ||
      CheckLibraryCall(*FindLibraryCall(call), call) != absl::OkStatus())
    return false;
  const auto& window = WindowOf(call).dims;
  const bool is_uneven = absl::c_any_of(window, IsUneven);
  const bool is_negative = absl::c_any_of(window, IsNegative);
  if (form == ConvForm::kForward)
    return is_uneven || is_negative || absl::c_any_of(window, IsBaseDilated) ||
           absl::c_any_of(window, HasKernelHoles);
  return is_uneven && !is_negative;
}

absl::StatusOr<Instruction*> ConvPaddingLegalization::Expand(Instruction* call,
                                                             Rewriter& rewriter) {
  const ConvForm form = FormOf(*call);
  if (form == ConvForm::kForward) return LegalForward(*call, rewriter);
  return form == ConvForm::kInputGradient ? LegalInputGradient(*call, rewriter)
                                          : LegalKernelGradient(*call, rewriter);
}

HLO_DEFINE_PASS(ConvPaddingLegalization)

}  // namespace hlo
