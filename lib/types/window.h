// Sliding windows of reduce-window, convolution and select-and-scatter.
#pragma once

#include <string>
#include <vector>

#include "lib/support/saturate.h"
#include "lib/types/layout.h"

namespace hlo {

struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad_low = 0;  // may be negative
  int64_t pad_high = 0;
  int64_t base_dilation = 1;    // lhs_dilate
  int64_t window_dilation = 1;  // rhs_dilate
  bool reversal = false;        // rhs_reversal
  friend bool operator==(const WindowDim&, const WindowDim&) = default;

  // Size of a dimension of `n` elements after base dilation: 0 or (n-1)*base_dilation+1.
  int64_t DilatedBase(int64_t n) const { return Dilated(n, base_dilation); }
  int64_t DilatedWindow() const { return Dilated(size, window_dilation); }
  // Number of window positions over a dimension of `n` elements.
  int64_t OutputSize(int64_t n) const {
    const int64_t padded = SaturatingAdd(SaturatingAdd(DilatedBase(n), pad_low), pad_high);
    const int64_t window = DilatedWindow();
    return padded < window || window == 0 ? 0 : SaturatingAdd(padded, -window) / stride + 1;
  }

 private:
  static int64_t Dilated(int64_t n, int64_t dilation) {
    return n == 0 ? 0 : SaturatingAdd(SaturatingMul(n - 1, dilation), 1);
  }
};

struct Window {
  std::vector<WindowDim> dims;
  friend bool operator==(const Window&, const Window&) = default;
  bool empty() const { return dims.empty(); }
  // "size=3x3 stride=2x2 pad=1_1x0_1 …": size always, the others only where some dimension is not
  // default.
  std::string ToString() const;
};

}  // namespace hlo
