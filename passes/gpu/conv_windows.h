// Windows of gradients. A gradient is written as a convolution; the window that cuDNN is told is
// that of the convolution whose gradient it is. cuDNN pads both sides by as much: of paddings that
// mean the same, these have the one that is nearest to even.
//
//   d = convolution(g, reverse(w)), window={size=3x3 pad=1_2x1_0}      of g = convolution(x, w)
//     WindowOfInputGradient(d)   is {size=3x3 pad=1_0x1_2}
#pragma once

#include <optional>

#include "lib/ir/module.h"

namespace hlo {

// Of the gradient of the input; nothing where the window has strides, holes in the kernel or
// reversals, or a padding would be negative.
std::optional<Window> WindowOfInputGradient(const Instruction& conv);
// Of the gradient of the kernel; nothing where the window has strides, holes in the input or
// reversals, or a padding would be negative.
std::optional<Window> WindowOfKernelGradient(const Instruction& conv);

}  // namespace hlo
