// What `convolution_kind` means: shapes and windows are those of the plain convolution whatever the
// kind, and so is the value, but that the kernel of a dgrad is meant reversed.
#pragma once

#include "lib/ops/attrs.h"

namespace hlo {

// Whether the kernel is read backwards along `dim`, a dimension of the convolution's window.
inline bool ReadsReversed(const ConvolutionAttrs& convolution, const WindowDim& dim) {
  return dim.reversal != (convolution.convolution_kind == ConvolutionKind::kDgrad);
}

}  // namespace hlo
