#include "passes/gpu/conv_windows.h"

#include <algorithm>
#include <utility>

namespace hlo {
namespace {

// Of the paddings [least, most], all of which mean the same, the one nearest to `low`.
int64_t EvenPadding(int64_t low, int64_t least, int64_t most) {
  return std::clamp(low, least, most);
}

int64_t SizeOf(Shape shape, int64_t dim) { return shape.dim(static_cast<int>(dim)); }

}  // namespace

std::optional<Window> WindowOfInputGradient(const Instruction& conv) {
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  Window window = attrs.window;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    if (dim.stride != 1 || dim.window_dilation != 1 || dim.reversal) return std::nullopt;
    dim.stride = std::exchange(dim.base_dilation, 1);
    dim.pad_low = dim.size - 1 - dim.pad_low;
    const int64_t input = SizeOf(conv.shape(), attrs.dim_labels.output_spatial[i]);
    const int64_t output = SizeOf(conv.operand(0)->shape(), attrs.dim_labels.input_spatial[i]);
    const int64_t least = dim.size + dim.stride * (output - 1) - input - dim.pad_low;
    dim.pad_high = EvenPadding(dim.pad_low, least, least + dim.stride - 1);
    if (dim.pad_low < 0 || dim.pad_high < 0) return std::nullopt;
  }
  return window;
}

std::optional<Window> WindowOfKernelGradient(const Instruction& conv) {
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  Window window = attrs.window;
  for (size_t i = 0; i < window.dims.size(); ++i) {
    WindowDim& dim = window.dims[i];
    if (dim.stride != 1 || dim.base_dilation != 1 || dim.reversal || dim.pad_low < 0)
      return std::nullopt;
    const int64_t output = dim.size;
    const int64_t input = SizeOf(conv.operand(0)->shape(), attrs.dim_labels.input_spatial[i]);
    dim.size = SizeOf(conv.shape(), attrs.dim_labels.output_spatial[i]);
    std::swap(dim.stride, dim.window_dilation);
    const int64_t least = dim.size + (output - 1) * dim.stride - input - dim.pad_low;
    dim.pad_high = EvenPadding(dim.pad_low, least, least + dim.stride - 1);
    if (dim.pad_high < 0) return std::nullopt;
  }
  return window;
}

}  // namespace hlo
