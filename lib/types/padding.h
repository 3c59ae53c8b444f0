// Padding of `pad`: low, high (negative crops) and interior per dimension.
#pragma once

#include <string>

#include "absl/container/inlined_vector.h"
#include "lib/support/saturate.h"
#include "lib/types/layout.h"

namespace hlo {

struct PaddingDim {
  int64_t low = 0;
  int64_t high = 0;
  int64_t interior = 0;
  friend bool operator==(const PaddingDim&, const PaddingDim&) = default;
  // Size of a dimension of `n` elements after padding (may come out negative for bad crops).
  int64_t PaddedSize(int64_t n) const {
    const int64_t inside = n == 0 ? 0 : SaturatingAdd(n, SaturatingMul(n - 1, interior));
    return SaturatingAdd(SaturatingAdd(low, high), inside);
  }
};

struct PaddingConfig {
  absl::InlinedVector<PaddingDim, 4> dims;
  friend bool operator==(const PaddingConfig&, const PaddingConfig&) = default;
  int rank() const { return static_cast<int>(dims.size()); }
  const PaddingDim& operator[](int i) const { return dims[i]; }
  // "0_1x2_3", with "_interior" everywhere if any dimension has one.
  std::string ToString() const;
};

}  // namespace hlo
